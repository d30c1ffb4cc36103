"""Interpreters that are not known: native stacks, one clear sentence, exit 1; never a guess."""
import mmap
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters
import truth

OTHERS = [pytest.param(one, id=one.label) for one in interpreters.find_others()
          if one.minor >= (3, 6)] or [
              pytest.param(None, id="none", marks=pytest.mark.skip(reason="no other CPython here"))]


def assert_refused_by_name(result, *versions):
    """One sentence that names (one of) the versions; everything native is shown."""
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    document = result.json
    said = [warning["message"] for warning in document["warnings"]]
    assert len(said) == 1 and any("CPython " + version in said[0] for version in versions), said
    assert document["threads"][0]["frames"]
    assert not any(analyzer.python_frames(thread) for thread in document["threads"])
    assert any(frame["symbol"] and "_PyEval_EvalFrameDefault" in frame["symbol"]
               for frame in document["threads"][0]["frames"]), "what runs Python is not hidden"


@pytest.mark.parametrize("older", OTHERS)
def test_versions_outside_the_promise(older):
    """Either right, or refused by name."""
    core = cores.make_core("worker_crash", older)
    result = analyzer.json_of(core.path)
    document = result.json
    if any(analyzer.python_frames(thread) for thread in document["threads"]):
        ident = core.truth["dying"]
        found = analyzer.python_frames(analyzer.thread_by_ident(document, ident))
        extra = core.truth["promises"]["extra"]
        assert [truth.key_of_json(frame) for frame in found[len(extra):]] == truth.stacks(core)[ident]
    else:
        assert_refused_by_name(result, ".".join(older.version.split(".")[:2]))


def test_version_of_the_future(tmp_path):
    """A core of 3.13 whose self-description says 3.99; its file still says 3.13."""
    interpreter = interpreters.find_version(3, 13)
    if interpreter is None:
        pytest.skip("no CPython 3.13 here")
    core = cores.make_core("callbacks", interpreter)
    copy = tmp_path / "core"
    subprocess.run(["cp", "--sparse=always", core.path, copy], check=True)
    with open(copy, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        at = data.find(b"xdebugpy")
        changed = 0
        while at >= 0:
            version = data[at + 8:at + 16]
            if version[3] == 3 and version[2] == 13:
                data[at + 8:at + 16] = (0x036300f0).to_bytes(8, "little")
                changed += 1
            at = data.find(b"xdebugpy", at + 8)
    assert changed, "no debug offsets in the core"
    assert_refused_by_name(analyzer.run("--format", "json", copy), "3.99", "3.13")


def test_no_python_at_all():
    """Native stacks of a C program, and one sentence that there is no Python."""
    path = cores.make_plain_core()
    result = analyzer.json_of(path)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert len(result.stderr.splitlines()) == 1 and "no Python" in result.stderr
    assert result.json["target"]["python"] is None
    symbols = [frame["symbol"] for frame in result.json["threads"][0]["frames"]]
    assert symbols.index("dies") + 1 == symbols.index("main")
    assert len(result.json["threads"]) == 2
    text = analyzer.run(path).stdout
    assert "SIGABRT" in text and "no Python" in text


def test_python_embedded_in_a_program(tmp_path):
    """The interpreter is found in its library, whatever the program is called."""
    if shutil.which("python3-config", path="/usr/bin") is None:
        pytest.skip("no /usr/bin/python3-config: install python3-dev")

    def flags(*options):
        return subprocess.run(["/usr/bin/python3-config", *options], check=True,
                              capture_output=True).stdout.decode().split()

    program = tmp_path / "host-of-python"
    subprocess.run(["cc", "-g", "-O1", *flags("--includes"), "-o", program, cores.NATIVE + "/embed.c",
                    *flags("--embed", "--ldflags")], check=True, capture_output=True)
    script = tmp_path / "script.py"
    script.write_text("import ctypes\n\n\ndef inside():\n    ctypes.memmove(0, 0, 1)\n\n\n"
                      "list(map(lambda item: inside(), [1]))\n")
    cores.run_to_core([str(program), str(script)], str(tmp_path), {"PATH": "/usr/bin:/bin"})
    frames = analyzer.python_frames(analyzer.json_of(str(tmp_path / "core")).json["threads"][0])
    assert [(frame["name"], frame["line"]) for frame in frames] == \
        [("inside", 5), ("<lambda>", 8), ("<module>", 8)]
