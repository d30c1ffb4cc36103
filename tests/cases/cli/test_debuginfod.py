"""--debuginfod: what is not here comes from a real debuginfod server over loopback, and never unasked."""
import contextlib
import glob
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

import analyzer
import cores
import cython_core
import resting

SOURCE = os.path.join(cores.NATIVE, "values.c")
MISSING = [name for name in ("debuginfod", "debuginfod-find") if not shutil.which(name)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason="no %s here" % ", ".join(MISSING))


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, **more).stdout.decode()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def ask(url):
    """The answer, or None where it has none; a server that starts has none at all."""
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    return None


class Server:
    def __init__(self, url):
        self.url = url

    def requests(self):
        """How many files it was asked for."""
        text = ask(self.url + "/metrics").decode()
        return sum(float(line.split()[-1]) for line in text.splitlines()
                   if line.startswith("http_requests_total") and 'type="metrics"' not in line)


@pytest.fixture(scope="module")
def dead(tmp_path_factory):
    """A folder with the core of a program that is in its subfolder `served`, no longer where it ran."""
    folder = tmp_path_factory.mktemp("dead")
    (folder / "served").mkdir()
    run("gcc", "-g", "-O0", "-w", SOURCE, "-o", folder / "values", "-lm", "-Wl,--build-id")
    cores.run_to_core([str(folder / "values")], str(folder))
    shutil.move(folder / "values", folder / "served" / "values")
    return folder


@contextlib.contextmanager
def serving(what, wanted, home):
    """A server that has what is wanted."""
    port = free_port()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    with open(home / "log", "wb") as log:
        process = subprocess.Popen(["debuginfod", "-p", str(port), "-d", str(home / "db"), *what],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    try:
        url = "http://127.0.0.1:%d" % port
        resting.wait_until(lambda: process.poll() is not None or ask(url + wanted) is not None, "the server", pause=0.05)
        assert process.poll() is None, (home / "log").read_text()[-2000:]
        yield Server(url)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def server(dead, tmp_path_factory):
    wanted = "/buildid/%s/debuginfo" % build_id(dead / "served" / "values")
    with serving(["-F", str(dead / "served")], wanted, tmp_path_factory.mktemp("server")) as found:
        yield found


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path)).group(1)


@pytest.fixture
def place(dead, tmp_path):
    """Puts the program where it was, as the test wants it, and takes it away again."""
    shutil.copy(dead / "served" / "values", dead / "values")
    yield dead / "values"
    if (dead / "values").exists():
        (dead / "values").unlink()


def frames_of(dead, cache, *options, **env):
    environment = {"DEBUGINFOD_CACHE_PATH": str(cache), **env}
    result = analyzer.run("--format", "json", "--mode", "native", "--locals", *options, dead / "core", env=environment)
    analyzer.assert_fits_schema(result.json)
    kept = [(frame["function"], frame["file"], frame["line"], frame.get("locals"))
            for frame in result.json["threads"][0]["frames"] if frame["file"] and frame["file"].endswith("values.c")]
    return json.loads(json.dumps(kept)), result


def test_program_and_debug_file(dead, server, place, tmp_path):
    expected, _ = frames_of(dead, tmp_path)
    assert expected[-1][0] == "main" and expected[0][3]
    run("strip", place)
    before = server.requests()
    assert frames_of(dead, tmp_path / "1", DEBUGINFOD_URLS=server.url)[0] == []
    assert server.requests() == before, "it was not asked to"
    found, result = frames_of(dead, tmp_path / "1", "--debuginfod=" + server.url)
    assert found == expected
    assert re.fullmatch(r"pystack-core: debuginfod: [1-9][0-9]* of [0-9]+ files fetched in [0-9.]+ s\n", result.stderr)
    assert server.requests() > before
    # The tool has kept it.
    asked = server.requests()
    assert frames_of(dead, tmp_path / "1", "--debuginfod", DEBUGINFOD_URLS="http://127.0.0.1:1/")[0] == expected
    assert server.requests() == asked
    # The program itself, too; asked for by the user's configuration.
    place.unlink()
    assert frames_of(dead, tmp_path / "2")[0] == []
    found, _ = frames_of(dead, tmp_path / "2", DEBUGINFOD_URLS=server.url, PYSTACK_CORE_DEBUGINFOD="on")
    assert found == expected


def test_who_cannot_fetch_says_so(dead, tmp_path):
    _, result = frames_of(dead, tmp_path, "--debuginfod")
    assert "no server is named" in result.stderr and "DEBUGINFOD_URLS" in result.stderr
    alone = tmp_path / "bin"
    alone.mkdir()
    _, result = frames_of(dead, tmp_path, "--debuginfod=http://127.0.0.1:1", PATH=str(alone))
    assert "debuginfod-find is not installed" in result.stderr and "apt-get install debuginfod" in result.stderr
    for options in ["--debuginfod-limit=0"], ["--debuginfod-limit=soon"]:
        assert analyzer.run(*options, dead / "core").returncode == analyzer.EXIT_USAGE


def test_dead_and_silent_servers(dead, tmp_path):
    _, result = frames_of(dead, tmp_path / "1", "--debuginfod=http://127.0.0.1:1")
    assert result.returncode == analyzer.EXIT_PARTIAL and " 0 of " in result.stderr
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = "http://127.0.0.1:%d" % silent.getsockname()[1]
        _, result = frames_of(dead, tmp_path / "2", "--debuginfod=" + url, "--debuginfod-limit=1")
    assert result.returncode == analyzer.EXIT_PARTIAL
    assert "the time for it is over" in result.stderr and "--debuginfod-limit" in result.stderr


def test_progress_is_one_line_of_a_terminal(dead, tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [analyzer.PROGRAM, "--debuginfod=http://127.0.0.1:%d" % silent.getsockname()[1], "--debuginfod-limit=2",
             str(dead / "core")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "DEBUGINFOD_CACHE_PATH": str(tmp_path)})
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):
            while True:
                said += os.read(ours, 4096)
        os.close(ours)
        assert process.wait() in (0, 1)
    lines = [line for line in re.sub(rb"[^\n]*\r\x1b\[K", b"", said).split(b"\n") if line.strip()]
    assert b"\r\x1b[Kpystack-core: debuginfod: values, 1 s" in said
    assert not any(b"values, " in line for line in lines), said


def test_triage_takes_it(dead, server, tmp_path):
    result = analyzer.run("triage", "--debuginfod=" + server.url, dead / "core",
                          env={"DEBUGINFOD_CACHE_PATH": str(tmp_path)})
    assert "innermost" in result.stdout, result.describe()


# ---- sources of Cython ----

def cython_frames(core, *options, **env):
    """Functions and lines, and the text of the lines."""
    text = analyzer.run(*options, core, env=env).stdout
    return [(function, int(line), source and source.strip()) for function, line, source in
            re.findall(r"^  #\d+ +Cython +(\S+) +\S+\.pyx(?::(\d+))?.*\n( {10,}.*)?", text.replace("\n\n", "\n"), re.M)
            if line]


@pytest.fixture(scope="module", params=["O0", "O0-line"])
def moved_sources(request, tmp_path_factory):
    """A core of which the sources lie in an archive that is served alone, and its frames before they were moved."""
    made = os.path.dirname(cython_core.make_cython_core(request.param))
    expected = cython_frames(os.path.join(made, "core"))
    served = tmp_path_factory.mktemp("sources")
    module, = glob.glob(made + "/kern*.so")
    names = [os.path.join(made, name) for name in ("kern.c", "kern.pyx")]
    run("tar", "-c", "-f", served / "all.tar", "--transform", "s,^,.,", "-P", module, *names)
    kept = tmp_path_factory.mktemp("kept")
    for name in names:
        shutil.move(name, kept)
    try:
        with serving(["-Z", ".tar", str(served)], "/buildid/%s/source%s" % (build_id(module), names[0]),
                     tmp_path_factory.mktemp("server")) as found:
            yield os.path.join(made, "core"), found, expected
    finally:
        for name in names:
            shutil.move(kept / os.path.basename(name), name)


@pytest.mark.skipif(analyzer.SANITIZED, reason="nothing of memory safety is in it")
def test_sources_of_cython(moved_sources, tmp_path):
    """The C file that tells lines, and the .pyx where debug information names it; neither unasked."""
    core, found, expected = moved_sources
    assert expected and all(frame[2] for frame in expected)
    cache = {"DEBUGINFOD_CACHE_PATH": str(tmp_path)}
    before = found.requests()
    assert cython_frames(core, DEBUGINFOD_URLS=found.url, **cache) != expected and found.requests() == before
    fetched = cython_frames(core, "--debuginfod=" + found.url, **cache)
    # Where debug information does not name the .pyx, nobody can ask for it.
    compared = 3 if "O0-line" in core else 2
    assert [frame[:compared] for frame in fetched] == [frame[:compared] for frame in expected]
