"""Programs and modules that Nuitka compiled: the lines of their own traceback, each frame once, nothing made up."""
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores
import interpreters

pytestmark = pytest.mark.skipif(not analyzer.THOROUGH, reason="installs and runs Nuitka: PSC_TEST_THOROUGH=1")

LIBRARY = """
def call_back(function, value):
    return [
        function(one)
        for one in [value]
    ]


class Failing:
    def catch(self, function):
        try:
            raise KeyError(
                "caught"
            )
        except KeyError:
            call_back(function, 3)
"""
PROGRAM = """
import os
import sys
import traceback
import library


def gen(number):
    yield number
    yield Worker().run(number)


class Worker:
    def run(self, number):
        doubled = number * 2
        return library.call_back(self.deeper, doubled)

    def deeper(self, number):
        for _ in range(2):
            pass
        library.Failing().catch(die)


def die(number):
    with open("said.txt", "w") as said: traceback.print_stack(file=said)
    os.abort()


def main():
    made = gen(3)
    next(made)
    call = lambda: next(made)
    call()


main()
"""
FRAME = re.compile(r'  File "(.*)", line (\d+), in (\S+)$', re.MULTILINE)


@pytest.fixture(scope="module")
def compile_with(tmp_path_factory):
    """A function that compiles with the Nuitka of an interpreter."""
    folder = tmp_path_factory.mktemp("nuitka")

    def compile_one(interpreter, *arguments):
        python = str(folder / interpreter.label / "bin" / "python")
        if not (folder / interpreter.label).exists():
            subprocess.run([interpreter.path, "-m", "venv", str(folder / interpreter.label)], check=True)
            subprocess.run([python, "-m", "pip", "-q", "install", "nuitka"], check=True)
        made = subprocess.run([python, "-m", "nuitka", "--jobs=2", "--assume-yes-for-downloads", *arguments],
                              capture_output=True, timeout=900)
        if made.returncode:
            pytest.skip("Nuitka fails: " + (made.stdout + made.stderr)[-300:].decode(errors="replace"))
        return python
    return compile_one


def wanted():
    """The oldest and the newest that Nuitka has been tried with."""
    found = [one for one in interpreters.find_wanted()
             if (3, 8) <= one.minor <= (3, 13) and one.path != "/usr/bin/python3"]
    return [pytest.param(one, id=one.label) for one in {one.label: one for one in found[:1] + found[-1:]}.values()] \
        or [pytest.param(None, marks=pytest.mark.skip(reason="no CPython from 3.8 to 3.13 here"))]


def check(command, folder):
    """Lines are those of the program's own traceback; @return the thread, and what was warned of."""
    cores.run_to_core(command, str(folder))
    result = analyzer.run("--format", "json", "--all", str(folder / "core"))
    analyzer.assert_fits_schema(result.json)
    thread = result.json["threads"][0]
    frames = [(frame["name"], os.path.basename(frame["file"]), frame["line"])
              for frame in analyzer.python_frames(thread)]
    said = [(name, os.path.basename(path), int(line))
            for path, line, name in FRAME.findall((folder / "said.txt").read_text())]
    # Since the program has said it, it has gone on by one line.
    assert said[-1][0] == "die"
    said[-1] = ("die", said[-1][1], said[-1][2] + 1)
    assert frames == said[::-1]
    assert not analyzer.gaps(thread)
    codes = [warning["code"] for warning in result.json["warnings"]]
    assert result.returncode == (1 if codes else 0), result.describe()
    names = [frame["name"] or frame["symbol"] for frame in thread["frames"]]
    assert names.index("abort") < names.index("die") < names.index("<module>") < names.index("_start")
    handled = thread["exception"]
    assert handled["type"] == "KeyError"
    assert [(os.path.basename(entry["file"]), entry["line"]) for entry in handled["traceback"]] == [("library.py", 12)]
    return thread, codes


@pytest.mark.parametrize("compiled_by", wanted())
def test_programs_and_modules(compiled_by, compile_with, tmp_path):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "program.py").write_text(PROGRAM)
    program = str(tmp_path / "program.py")
    for flag in "", "--unstripped":
        flags = [flag] if flag else []
        out = tmp_path / ("program" + flag)
        compile_with(compiled_by, "--follow-import-to=library", "--output-dir=" + str(out), *flags, program)
        thread, warned = check([str(out / "program.bin")], out)
        assert ("compiled-frames" in warned) == (not flags)
        functions = [frame for frame in thread["frames"] if "$$$" in (frame["symbol"] or "")]
        assert all(frame["hidden"] for frame in functions)
        assert len(functions) >= 8 if flags else not functions
    # One module of a program that is interpreted.
    out = tmp_path / "module"
    python = compile_with(compiled_by, "--module", "--output-dir=" + str(out), str(tmp_path / "library.py"))
    shutil.copy(program, out / "program.py")
    thread, warned = check([python, str(out / "program.py")], out)
    assert warned.count("compiled-frames") == 1
    symbols = [frame["symbol"] for frame in thread["frames"] if frame["kind"] == "native"]
    assert "_PyEval_EvalFrameDefault" in symbols
