"""The command line, as it is promised."""
import json
import os
import pty
import re
import subprocess

import pytest

import analyzer
import cores
import elf


def test_help():
    result = analyzer.run("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for option in ("--format", "--output", "--mode", "--all", "--no-source", "--unwinder", "--thread",
                   "--order", "--sysroot", "--debug-dir", "--lib-dir", "--source-map", "--color",
                   "--explain", "--version", "--help"):
        assert option in result.stdout
    assert all(len(line) <= 100 for line in result.stdout.splitlines())


def test_version():
    result = analyzer.run("--version")
    with open(os.path.join(cores.SOURCE, "analyzer", "include", "pystack_core.h")) as file:
        version = re.search(r'#define PSC_VERSION +"([^"]+)"', file.read()).group(1)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "pystack-core %s\n" % version


@pytest.mark.parametrize("arguments", [
    [], ["--nonsense"], ["-x"], ["--format"], ["--format", "yaml"], ["--mode", "both"],
    ["--unwinder", "magic"], ["--thread", "x"], ["--thread", "-5"], ["--order", "random"],
    ["--color", "sometimes"], ["--output", "json"], ["--output", "yaml=x"], ["core", "exe", "more"],
    ["--source-map", "nothing"],
    ["--locals=c", "core"], ["--max-frames", "0", "core"], ["--max-frames", "few", "core"]], ids=" ".join)
def test_wrong_usage(arguments):
    result = analyzer.run(*arguments)
    assert result.returncode == analyzer.EXIT_USAGE, result.describe()
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines and lines[0].startswith("pystack-core: ")


@pytest.mark.parametrize("option", ["--lib-dir", "--sysroot"])
def test_no_such_directory(any_core, tmp_path, option):
    """It is said, and changes nothing: what is not found there is looked for elsewhere."""
    result = analyzer.run(option, tmp_path / "nothing-here", any_core)
    plain = analyzer.run(any_core)
    assert (result.returncode, result.stdout) == (plain.returncode, plain.stdout)
    assert result.stderr.splitlines()[0].endswith("nothing-here: there is no such directory")


def test_output_file(any_core, tmp_path):
    path = tmp_path / "report.json"
    result = analyzer.run("--format", "json", "-o", path, any_core)
    assert (result.returncode, result.stdout) == (0, "")
    assert path.read_text() == analyzer.run("--format", "json", any_core).stdout


def test_several_outputs(any_core, tmp_path):
    text, document = tmp_path / "report.txt", tmp_path / "report.json"
    result = analyzer.run("--output", "text=%s" % text, "--output", "json=%s" % document, any_core)
    assert result.returncode == 0, result.describe()
    assert text.read_text() == analyzer.run(any_core).stdout
    assert json.loads(document.read_text()) == analyzer.json_of(any_core).json


def test_output_is_atomic(tmp_path):
    """A failed run leaves what was there."""
    path = tmp_path / "report"
    path.write_text("precious")
    result = analyzer.run("-o", path, tmp_path / "no-core")
    assert result.returncode == analyzer.EXIT_NOTHING
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["report"]


def test_output_that_cannot_be_written(any_core, tmp_path):
    result = analyzer.run("-o", tmp_path / "no" / "folder", any_core)
    assert result.returncode == analyzer.EXIT_NOTHING, result.describe()
    assert len(result.stderr.splitlines()) == 1 and result.stderr.startswith("pystack-core: ")


def test_full_disk(any_core):
    with open("/dev/full", "wb") as full:
        command = [analyzer.PROGRAM, any_core]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=600)
    assert done.returncode == analyzer.EXIT_NOTHING
    assert done.stderr.startswith(b"pystack-core: ")


def test_closed_pipe(any_core):
    """`pystack-core core | head -1` ends quietly and soon."""
    done = subprocess.run("%s %s | head -1" % (analyzer.PROGRAM, any_core), shell=True,
                          capture_output=True, timeout=600)
    assert done.stdout.count(b"\n") == 1
    assert b"rror" not in done.stderr


@pytest.mark.cases(["threads"])
def test_thread(core):
    document = analyzer.json_of(core.path).json
    crashed = document["threads"][0]
    assert analyzer.json_of(core.path, "--thread", "crashed").json["threads"] == [crashed]
    assert analyzer.json_of(core.path, "--thread", "all").json == document
    others = len(document["threads"]) - 1
    header = analyzer.run("--thread", "crashed", core.path).stdout.splitlines()[2]
    assert re.search(" · 1 thread( |$)", header) if not others else \
        " · 1 of %d threads" % (others + 1) in header, header
    for thread in document["threads"]:
        one = analyzer.json_of(core.path, "--thread", str(thread["tid"])).json["threads"]
        assert [(found["tid"], found["frames"]) for found in one] == [(thread["tid"], thread["frames"])]


@pytest.mark.cases(["threads"])
def test_main_thread_comes_before_smaller_numbers(core, tmp_path):
    """Thread ids begin again at the kernel's limit."""
    crashed, *others = [thread["tid"] for thread in analyzer.json_of(core.path).json["threads"]]
    if not others:
        pytest.skip("no other thread")
    first = max(others)
    result = analyzer.run("--format", "json", elf.with_main_thread(core.path, tmp_path, first))
    assert [thread["tid"] for thread in result.json["threads"]] == \
        [crashed, first, *sorted(tid for tid in others if tid != first)]


def test_thread_that_is_not_there(any_core):
    result = analyzer.run("--thread", "1", any_core)
    assert result.returncode == analyzer.EXIT_NOTHING, result.describe()
    assert len(result.stderr.splitlines()) == 1


def test_order(any_core):
    def functions(*options):
        text = analyzer.run("--no-source", "--thread", "crashed", *options, any_core).stdout
        return re.findall(r"^ +#\d+ +\S+ +(\S+)", text, re.M)

    assert functions() == functions("--order", "innermost-first")
    assert functions("--order", "outermost-first") == functions()[::-1]
    assert functions()[0] != functions()[-1]


def on_a_terminal(arguments, env):
    """What is written to a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen([analyzer.PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=child,
                               stderr=subprocess.DEVNULL, env={"TERM": "xterm", "LC_ALL": "C.UTF-8", **env})
    os.close(child)
    output = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(parent)
    assert process.wait(60) in (0, 1)
    return output.decode().replace("\r\n", "\n")


def test_color(any_core):
    plain = analyzer.run(any_core).stdout
    assert "\x1b" not in plain
    colored = analyzer.run("--color", "always", any_core).stdout
    assert "\x1b[" in colored and re.sub("\x1b\\[[0-9;]*m", "", colored) == plain
    assert analyzer.run("--color", "never", any_core).stdout == plain
    assert analyzer.run("--color", "always", "--format", "json", any_core).stdout.count("\x1b") == 0


def test_color_on_a_terminal(any_core):
    plain = analyzer.run(any_core).stdout
    assert on_a_terminal([any_core], {}) == analyzer.run("--color", "always", any_core).stdout
    assert on_a_terminal([any_core], {"NO_COLOR": "1"}) == plain
    assert on_a_terminal(["--color", "never", any_core], {}) == plain


def test_executable_argument(any_core, system):
    assert analyzer.run(any_core, system.path).stdout == analyzer.run(any_core).stdout


def test_explain(any_core):
    result = analyzer.run("--explain", any_core)
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) > len(analyzer.run(any_core).stdout.splitlines())


def test_options_after_the_core(any_core):
    assert analyzer.run(any_core, "--all").stdout == analyzer.run("--all", any_core).stdout


def test_same_every_time(any_core):
    assert analyzer.run("--format", "json", "--all", any_core).stdout == \
        analyzer.run("--format", "json", "--all", any_core).stdout


def test_works_in_any_locale(any_core):
    """UTF-8 comes out whatever the locale; numbers keep their point."""
    usual = analyzer.run(any_core).stdout_bytes
    assert analyzer.run(any_core, env={"LC_ALL": "C"}).stdout_bytes == usual
