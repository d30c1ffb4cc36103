"""What was running: the test, the environment, memory, packages; truth is what the program itself writes down."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import time

import pytest

import analyzer
import cores
import interpreters
import living
import resting

PROGRAM = os.path.join(cores.PROGRAMS, "running.py")
TEST = {"id": "tests/test_a.py::TestB::test_c[x (1) \u00e9]", "phase": "call", "worker": "gw7"}
LIMIT = 4096


def documented_names():
    with open(os.path.join(cores.SOURCE, "docs", "running.md")) as file:
        text = file.read().split("## Environment")[1]
    return set(re.findall(r"`([A-Z_0-9]+)`", text))


def assert_environment(running, truth):
    wanted = {name: value[:LIMIT] for name, value in truth["environment"].items() if name in documented_names()}
    assert running["environment"] == wanted
    assert running["environment_of"] == "now"
    assert {"RANK", "PYTHONPATH", "PYTEST_CURRENT_TEST"} <= set(wanted) and "LC_ALL" not in wanted
    assert running["test"] == TEST
    assert running["rank"] == {"number": 5, "variable": "RANK"}


def smaps_kinds(pid):
    """Mapped bytes by kind, as /proc/PID/smaps tells; without what is the kernel's own."""
    found: dict = {"anonymous": 0, "file": 0, "shared": 0, "device": 0, "reserved": 0, "Rss": 0, "Swap": 0}
    with open("/proc/%d/smaps" % pid) as file:
        for line in file:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ *(.*)", line)
            if head:
                start, end, rights, name = head.groups()
                kind = None if name.startswith("[v") else "device" if re.match("/dev/(?!shm/|zero)", name) else \
                    "shared" if re.match("/(dev/|memfd|SYSV)", name) else "file" if name.startswith("/") else \
                    "reserved" if rights.startswith("---") else "anonymous"
                if kind:
                    found[kind] += int(end, 16) - int(start, 16)
            elif line.startswith(("Rss:", "Swap:")):
                found[line.split(":")[0]] += int(line.split()[1]) * 1024
    return found


@pytest.mark.cases(["running"])
def test_core(core):
    running = analyzer.json_of(core.path).json["running"]
    assert_environment(running, core.truth)
    assert running["uptime_s"] is None and running["working_directory"] is None and running["host"] is None
    memory = running["memory"]
    assert memory["stack"] > 0 and memory["anonymous"] > 0 and memory["file"] > 0 and "resident" not in memory
    text = analyzer.run(core.path).stdout
    assert "\n  test %s (call) \u00b7 worker gw7\n" % TEST["id"] in text
    assert " (rank 5): " in text.splitlines()[0]
    assert "PYTHONPATH" not in text and "hidden" not in analyzer.run("--running", core.path).stdout


def test_alive(interpreter, tmp_path):
    helpers = cores.native_helpers()
    command = [interpreter.path, "-s", PROGRAM, str(tmp_path), os.path.join(helpers, "libways.so"), "alive"]
    with living.running(command) as process:
        began = time.monotonic()
        living.wait_until(lambda: living.process_state(process.pid)[0] == "S", "rest")
        result = living.report(process.pid, "--format", "json")
        kinds = smaps_kinds(process.pid)
        text = living.report(process.pid, "--running").stdout
        passed = time.monotonic() - began
    truth = json.loads((tmp_path / "truth.json").read_text())
    running = result.json["running"]
    analyzer.assert_fits_schema(result.json)
    assert_environment(running, truth)
    assert running["working_directory"] == truth["cwd"]
    assert running["host"] == os.uname().nodename
    assert 0 <= running["uptime_s"] <= passed + 60
    memory = running["memory"]
    assert memory["anonymous"] + memory["stack"] == kinds["anonymous"]
    assert {kind: memory[kind] for kind in ("file", "shared", "device", "reserved")} == \
        {kind: kinds[kind] for kind in ("file", "shared", "device", "reserved")}
    # The kernel counts in batches for each processor (proc(5), statm).
    assert abs(memory["resident"] - kinds["Rss"]) < 4 << 20 and memory["swapped"] == kinds["Swap"]
    assert memory["resident"] <= truth["resident_peak"] + (4 << 20)
    assert re.search(r"^  up [0-9.]+ s \u00b7 in %s \u00b7 on " % re.escape(truth["cwd"]), text, re.M), text
    assert "\n    OMP_NUM_THREADS=3\n" in text and "hidden" not in text
    assert "\n    PYTHONPATH=" + "x" * LIMIT + "\u2026\n" in text


def test_nothing_to_tell(system):
    """A near miss: no test, no rank, no package; variables that look like them are none."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "RANK": "first", "LOCAL_RANK": "",
                   "PYTEST_CURRENT_TEST_": "x", "API_KEY": "hidden"}
    with living.running([system.path, "-s", "-c", "import time; print('ready', flush=True); time.sleep(1000)"],
                        env=environment) as process:
        running = living.report(process.pid, "--format", "json").json["running"]
        text = living.report(process.pid, "--running").stdout
    assert running["test"] is None and running["rank"] is None and running["packages"] == []
    assert running["environment"] == {"LC_ALL": "C.UTF-8", "RANK": "first", "LOCAL_RANK": ""}
    assert "test " not in text and "(rank" not in text and "packages" not in text and "hidden" not in text


STATIC = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    setenv("RANK", "4", 1);
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
"""


@pytest.mark.parametrize("flags,of,rank", [((), "now", "4"), (("-no-pie",), "now", "4"), (("-static",), "now", "4"),
                                           (("-static", "-s"), "start", "1")])
def test_where_the_environment_is(flags, of, rank):
    """By libc's variable, by the copy that a program has, by a static program's; a stripped one tells how it began."""
    program = living.compiled("environment" + "".join(flags), STATIC, *flags)
    with living.running([program], env={"RANK": "1"}) as process:
        running = living.report(process.pid, "--format", "json").json["running"]
    assert running["environment"] == {"RANK": rank}
    assert running["environment_of"] == of


# ---- packages ----

USE = r"""
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
library.rest()
"""
REST = "#include <unistd.h>\nvoid rest(void) { for (;;) pause(); }\n"


def install(site, names, build=""):
    """A folder with distributions; {folder name: (METADATA, what else)}"""
    library = living.compiled("rest" + build, REST + "char build[] = \"%s\";\n" % build, "-shared", "-fPIC", "-Wl,--build-id")
    module = site / "hurts" / "_rest.abi3.so"
    module.parent.mkdir(parents=True, exist_ok=True)
    with open(library, "rb") as file:
        (site / "new").write_bytes(file.read())
    os.replace(site / "new", module)
    for name, files in names.items():
        (site / name).mkdir()
        for file_name, text in files.items():
            (site / name / file_name).write_text(text)
    return module


LISTED = "hurts/__init__.py,,\nhurts/_rest.abi3.so,sha256=x,1\n"


@pytest.mark.parametrize("names,wanted", [
    ({"hurts-1.2.dist-info": {"METADATA": "Name: Hurts\nVersion: 1.2\n", "RECORD": LISTED}}, [("Hurts", "1.2")]),
    # Another name than the module's, beside one that only looks like it.
    ({"hurts-9.dist-info": {"METADATA": "Name: hurts\nVersion: 9\n", "RECORD": "hurts/other.py,,\n"},
      "it_hurts-3.dist-info": {"METADATA": "Name: it-hurts\nVersion: 3\n", "RECORD": LISTED}}, [("it-hurts", "3")]),
    # Debian's: no RECORD.
    ({"it_hurts-4.egg-info": {"PKG-INFO": "Name: it-hurts\nVersion: 4\n", "top_level.txt": "hurts\n"}}, [("it-hurts", "4")]),
    ({"hurts-5.egg-info": {"PKG-INFO": "Name: hurts\nVersion: 5\n", "installed-files.txt": "../hurts/_rest.abi3.so\n"}},
     [("hurts", "5")]),
    # Nobody's.
    ({"hurts-9.dist-info": {"METADATA": "Name: hurts\nVersion: 9\n", "RECORD": "hurts/other.py,,\n"}}, []),
    ({"others-9.egg-info": {"PKG-INFO": "Name: others\nVersion: 9\n", "top_level.txt": "others\n"}}, []),
    ({}, []),
])
def test_packages(system, tmp_path, names, wanted):
    module = install(tmp_path / "site-packages", names)
    with living.running([system.path, "-s", "-c", USE, str(module)]) as process:
        found = living.report(process.pid, "--format", "json").json["running"]["packages"]
    assert [(package["name"], package["version"]) for package in found] == wanted


CONDA = {"name": "hurts", "version": "6", "build": "h0_0", "files": ["lib/python3.11/site-packages/hurts/_rest.abi3.so"]}
OTHER = {"name": "hurtsome", "version": "7", "build": "h0_0", "files": ["lib/python3.11/site-packages/hurts/rest.abi3.so"]}


@pytest.mark.parametrize("folder,names,records,wanted", [
    ("lib/python3.11/site-packages", {}, [OTHER, CONDA], [("hurts", "6")]),
    # As some installers write it.
    ("lib/python3.11/site-packages", {}, [dict(CONDA, files=[], paths_data={"paths": [{"_path": CONDA["files"][0]}]})],
     [("hurts", "6")]),
    # Python's own word comes first.
    ("lib/python3.11/site-packages", {"hurts-1.2.dist-info": {"METADATA": "Name: Hurts\nVersion: 1.2\n", "RECORD": LISTED}},
     [CONDA], [("Hurts", "1.2")]),
    # A library of conda's, which is no module.
    ("lib", {}, [dict(CONDA, name="libhurts", files=["lib/hurts/_rest.abi3.so"])], [("libhurts", "6")]),
    ("lib/python3.11/site-packages", {}, [OTHER], []),
    # Of another prefix.
    ("lib/python3.11/site-packages", {}, [dict(CONDA, files=["hurts/_rest.abi3.so"])], []),
    # A folder *.egg, and one that is none.
    ("site-packages/it_hurts-8-py3.11-linux-x86_64.egg", {"EGG-INFO": {"PKG-INFO": "Name: it-hurts\nVersion: 8\n"}}, [],
     [("it-hurts", "8")]),
    ("site-packages/it_hurts", {"EGG-INFO": {"PKG-INFO": "Name: it-hurts\nVersion: 8\n"}}, [], []),
    # distutils' file.
    ("site-packages", {"hurts-9.egg-info": "Name: hurts\nVersion: 9\n"}, [], [("hurts", "9")]),
])
def test_other_packages(system, tmp_path, folder, names, records, wanted):
    site = tmp_path / folder
    module = install(site, {name: files for name, files in names.items() if isinstance(files, dict)})
    for name, text in names.items():
        if isinstance(text, str):
            (site / name).write_text(text)
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "history").write_text("")
    for record in records:
        (tmp_path / "conda-meta" / ("%(name)s-%(version)s-%(build)s.json" % record)).write_text(json.dumps(record, indent=2))
    with living.running([system.path, "-s", "-c", USE, str(module)]) as process:
        found = living.report(process.pid, "--format", "json").json["running"]["packages"]
    assert [(package["name"], package["version"]) for package in found] == wanted


INSTALLED = """
import os, threading, time
from greenlet import greenlet, __file__ as path

def rest():
    print("ready", flush=True)
    time.sleep(1000)

greenlet(rest).switch()
"""


def test_package_of_the_system(system):
    """One that Debian has installed: *.egg-info without a list of files."""
    asked = subprocess.run([system.path, "-c", "import greenlet, glob, os; print(greenlet.__version__); "
                            "print(*glob.glob(os.path.dirname(os.path.dirname(greenlet.__file__)) + '/greenlet-*'))"],
                           capture_output=True, text=True, check=False, timeout=resting.WAIT)
    if asked.returncode or ".egg-info" not in asked.stdout:
        pytest.skip("%s has no greenlet of the system's" % system.path)
    with living.running([system.path, "-c", INSTALLED]) as process:
        found = living.report(process.pid, "--format", "json").json["running"]["packages"]
    assert found == [{"name": "greenlet", "version": asked.stdout.split()[0]}]


def test_package_that_was_upgraded(system, tmp_path):
    """The process has the old module, the folder the new one: its version would be wrong."""
    names = {"hurts-1.dist-info": {"METADATA": "Name: hurts\nVersion: 1\n", "RECORD": LISTED}}
    module = install(tmp_path, names)
    with living.running([system.path, "-s", "-c", USE, str(module)]) as process:
        assert living.report(process.pid, "--format", "json").json["running"]["packages"] == \
            [{"name": "hurts", "version": "1"}]
        install(tmp_path, {}, "2")
        assert living.report(process.pid, "--format", "json").json["running"]["packages"] == []


# ---- a real test suite ----

SUITE = '''
import ctypes

class Dies:
    def __lt__(self, other):
        ctypes.string_at(0)

def test_fine():
    pass

def test_boom():
    sorted([Dies(), Dies()])
'''


PACKAGES = {"xdist": "pytest-xdist"}


def python_with(*modules):
    """This Python or the system's, or a venv of another that pip fills, which takes its time."""
    if all(importlib.util.find_spec(module) for module in modules):
        return sys.executable
    system = interpreters.find_system()
    if system and subprocess.run([system.path, "-c", "import " + ", ".join(modules)], capture_output=True, check=False,
                                 timeout=resting.WAIT).returncode == 0:
        return system.path
    if not analyzer.THOROUGH:
        pytest.skip("%s has no %s; --thorough installs it" % (sys.executable, modules[-1]))
    found = interpreters.find_version(3, 13) or interpreters.find_wanted()[-1]

    def make(folder):
        subprocess.run([found.path, "-m", "venv", folder], check=True, capture_output=True)
        subprocess.run([os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q",
                        *(PACKAGES.get(name, name) for name in modules)], check=True,
                       capture_output=True)

    try:
        folder = cores.made_once("venv-" + "-".join(modules), cores.digest(found.path, modules), make)
    except subprocess.CalledProcessError as error:
        pytest.skip("%s cannot be installed: %s" % (modules, error.stderr[-300:]))
    return os.path.join(folder, "bin", "python")


@pytest.mark.parametrize("arguments,worker", [((), None), (("-n", "2"), "gw[01]")], ids=["alone", "xdist"])
def test_pytest_that_crashes(arguments, worker, tmp_path):
    """The core of a test suite, or of its worker, names the test."""
    if not cores.kernel_writes_here():
        pytest.skip("the kernel does not write core files to the current folder")
    python = python_with("pytest", *(["xdist"] if worker else []))
    (tmp_path / "test_c.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    cores.run_to_core([python, "-m", "pytest", "-q", *arguments, "test_c.py"], str(tmp_path),
                      {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)})
    result = analyzer.run(tmp_path / "core")
    assert re.search(r"^  test test_c\.py::test_boom \(call\)%s$" % (worker and " \u00b7 worker " + worker or ""),
                     result.stdout, re.M), result.stdout[:2000]
