"""Files that are read as a whole: rules of signatures, known signatures, reports."""
import os
import subprocess
import threading

import pytest

import analyzer
import debuggers

# How a command line names the file, what its message begins with, and how large the file may be.
READERS = {"rules": (["--rules"], "--rules: ", 1 << 20), "baseline": (["triage", "--baseline"], "--baseline: ", 64 << 20),
           "report": (["summary"], "", 2 << 30)}


@pytest.fixture(params=sorted(READERS))
def reader(request):
    return READERS[request.param]


def run(reader, path, **more):
    core = [] if reader[0] == ["summary"] else [debuggers.some_core("callbacks").path]
    return subprocess.run([analyzer.PROGRAM, *reader[0], str(path), *core], capture_output=True, timeout=300, **more)


def content_for(reader):
    """More than a pipe holds, so that who writes waits for the reader."""
    content = b"# nothing\n"
    if reader[0] == ["summary"]:
        content = analyzer.run("--format", "json", debuggers.some_core("callbacks").path).stdout.encode()
    return content * (200000 // len(content) + 1)


@pytest.mark.parametrize("kind, reason", [
    ("folder", "Is a directory"), ("nothing", "No such file or directory"), ("secret", "Permission denied"),
    ("large", "has more than")])
def test_one_clear_sentence(tmp_path, reader, kind, reason):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "secret":
        path.touch(mode=0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
    elif kind == "large":
        if reader[2] > 100 << 20:
            pytest.skip("gigabytes are not read here")
        with open(path, "wb") as file:
            file.truncate(reader[2] + 1)
    done = run(reader, path)
    assert done.returncode == analyzer.EXIT_NOTHING
    expected = "pystack-core: %s%s: %s" % (reader[1], path, reason)
    assert done.stderr.decode().startswith(expected) and done.stderr.count(b"\n") == 1, done.stderr


def test_pipes(tmp_path, reader):
    """In several writes, the later ones when the reader waits already: as <(command) of shells."""
    content = content_for(reader)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    holder = os.open(fifo, os.O_RDWR)  # so that neither end waits for the other's open()

    def write():
        with open(fifo, "wb") as file:
            for start in range(0, len(content), 5000):
                file.write(content[start:start + 5000])
                file.flush()
        os.close(holder)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = run(reader, fifo)
    finally:
        writer.join()
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout


def test_standard_input(reader):
    done = run(reader, "-", input=content_for(reader))
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout
