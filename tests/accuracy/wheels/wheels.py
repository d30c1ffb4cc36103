#!/usr/bin/env python3
"""Real wheels: what the stacks of programs that use them show of their Cython and mypyc functions.

Each package is installed from PyPI in an old and in a new version, does its work (work.py), is
looked at while it runs, is killed, and dies in a callback from compiled code. What the frames must
say is checked against what is independent of pystack-core: the symbol tables and strings of the
modules, and the .pyx files that some wheels ship.

Prints a line for each package, and names what could not be had. Exit code: 0 all is as it must be,
1 not, 77 nothing could be run.
"""
import argparse
import collections
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from nameless import code_of
from stripped import compare_stripped, strip_package
from wheel_truth import line_is_true, module_of, name_is_true

HERE = Path(__file__).resolve().parent
# Name of the work: the package, and what its old version is.
WORK = {
    "implicit": ("implicit", "0.5.2"),
    "pandas": ("pandas", "1.3.5"),
    "sklearn": ("scikit-learn", "0.24.2"),
    "lxml": ("lxml", "4.6.5"),
    "uvloop": ("uvloop", "0.16.0"),
    "pyarrow": ("pyarrow", "6.0.1"),
    "spacy": ("spacy", "3.2.4"),
    "numpy_random": ("numpy", "1.21.6"),
    "scipy": ("scipy", "1.7.3"),
    "h5py": ("h5py", "3.6.0"),
    "black": ("black", "22.1.0"),
}
# With --more, in new versions: packages that brought something that those above have not.
MORE = {
    "pyzmq": ("pyzmq", None),
    "dependency_injector": ("dependency-injector", None),
    "cytoolz": ("cytoolz", None),
    "gevent": ("gevent", None),
    "cython": ("cython", None),
    "asyncpg": ("asyncpg", None),
    "lupa": ("lupa", None),
    "sqlglot": ("sqlglot", None),
}
# What the old ones need besides to work together.
OLD_HELPERS = {"click": "8.0.4", "typer": "0.4.2", "pydantic": "1.8.2", "typing_extensions": "4.5.0"}
# What pip calls the compiled part.
EXTRAS = {"sqlglot": "sqlglot[c]"}
# None of their compiled functions calls back.
ONLY_BUSY = {"implicit", "black", "pyzmq", "cython", "asyncpg", "sqlglot"}
# Also run with all symbols stripped, and compared with the symbols.
STRIPPED = ["black", "uvloop"]
# The interpreters, best first, by age.
PYTHONS = {"old": ["3.9", "3.8", "3.10"], "new": ["3.12", "3.13", "3.11"]}
WAIT = 90


def find_python(age):
    for version in PYTHONS[age]:
        found = sorted(Path.home().glob(".pyenv/versions/%s.*/bin/python3" % version))
        if found:
            return found[-1]
        system = Path("/usr/bin/python" + version)
        if system.exists():
            return system
    return None


def install(age, cache):
    """The environment's interpreter, or None; packages that could not be had are named later."""
    python = cache / age / "bin" / "python"
    if not python.exists():
        base = find_python(age)
        if not base:
            print("SKIP %s versions: no Python of %s" % (age, ", ".join(PYTHONS[age])))
            return None
        subprocess.run([base, "-m", "venv", cache / age], check=True)
    return python


def version_of(python, package):
    """Or None."""
    show = [python, "-c", "import importlib.metadata as m; print(m.version(%r))" % package]
    return subprocess.run(show, text=True, capture_output=True, check=False).stdout.strip() or None


def install_package(python, age, package, cache):
    """The version, or None."""
    version = version_of(python, package)
    if not version:
        pins = dict(WORK.values()) | OLD_HELPERS if age == "old" else {}
        limits = cache / ("%s.txt" % age)
        limits.write_text("".join("%s==%s\n" % pin for pin in pins.items()))
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                        "--only-binary", ":all:", "-c", limits, EXTRAS.get(package, package)],
                       check=False)
        version = version_of(python, package)
    return version


# ---- running ----


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def start(python, name, mode, folder, first=None):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("core*"):
        old.unlink()
    environment = dict(os.environ)
    if first:
        environment["PYTHONPATH"] = str(first)
    return subprocess.Popen([python, "-s", "-B", HERE / "work.py", name, mode], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=open(folder / "errors", "w"),
                            env=environment, preexec_fn=limits)


def report(options, *what):
    done = subprocess.run([options.program, "--all", "--format", "json", *map(str, what)], text=True,
                          capture_output=True, check=False)
    return json.loads(done.stdout) if done.stdout else None


def report_of_core(options, folder):
    cores = list(folder.glob("core*"))
    document = report(options, cores[0]) if cores else None
    for core in cores:
        if not options.keep:
            core.unlink()
    return document


def look_while_busy(options, process, folder):
    """Reports of moments that chance chooses, the last of them from a core."""
    if process.stdout.readline() != "working\n":
        return None
    found = []
    for _ in range(options.samples):
        time.sleep(random.uniform(0.02, 0.4))
        found.append(report(options, "--pid", process.pid))
    process.send_signal(signal.SIGABRT)
    process.wait()
    found.append(report_of_core(options, folder))
    return found


def run(options, python, name, mode, folder, first=None):
    """Reports, or None; no process is left. Modules are looked for in the folder `first`."""
    process = start(python, name, mode, folder, first)
    try:
        if mode == "busy":
            return look_while_busy(options, process, folder)
        process.wait(WAIT)
        return [report_of_core(options, folder)]
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait()


# ---- counting ----


EXACT = ("dwarf", "c-file", "xml", "machine-code", "code")


class Count:
    def __init__(self):
        self.frames: collections.Counter = collections.Counter()
        self.faults = []
        self.nameless: collections.Counter = collections.Counter()

    def add(self, frame, name):
        module = frame["module"] and module_of(frame["module"])
        if not module or not (module.cython or module.mypyc):
            return
        function = frame["function"]
        if frame["hidden"]:
            self.frames["hidden"] += 1
        elif frame["kind"] == "cython":
            self.add_named(frame, module, name)
        elif not function:
            self.add_nameless(frame)
        elif re.match(r"_*pyx_|CPyDef_|CPyPy_", function.lstrip("_"), re.I):
            self.frames["raw"] += 1
            self.faults.append("raw: %s" % brief(frame))
        else:
            self.frames["c"] += 1

    def add_nameless(self, frame):
        """A frame of a C library that was linked in, or one whose file has no name for it."""
        code, address = code_of(frame["module"]), int(frame["offset"], 16)
        known = code.name_of(address)
        other = not known and code.is_other_object(address)
        self.frames["c" if other else "raw"] += 1
        if not other:
            self.nameless["%s+%s" % (os.path.basename(frame["module"]), frame["offset"])] += 1
        if known:
            self.faults.append("nameless in spite of %s: %s" % (known, brief(frame)))

    def add_named(self, frame, module, name):
        self.frames["named"] += 1
        exact = frame["line"] and frame["line_source"] in EXACT
        self.frames["exact" if exact else "estimate" if frame["line"] else "none"] += 1
        if not name_is_true(frame, module):
            self.faults.append("name: %s" % brief(frame))
        if frame["line"] and not re.search(r"\.(pyx|pxd|pxi|py|px\.i)$", frame["file"] or ""):
            self.faults.append("line of something else: %s" % brief(frame))
        told = exact and line_is_true(frame)
        if exact and told is not None:
            self.frames["checked"] += 1
            self.frames["inside"] += told
            if not told:
                self.faults.append("line outside: %s" % brief(frame))


def brief(frame):
    return "%s %s:%s (%s %s+%s, %s)" % (
        frame["function"], frame["file"], frame["line"], frame["symbol"],
        os.path.basename(frame["module"] or ""), frame["offset"], frame["line_source"])


def count_reports(reports, name):
    count = Count()
    for document in reports:
        for thread in document["threads"]:
            for frame in thread["frames"]:
                count.add(frame, name)
    return count


# ---- helpers that several modules share ----


def build_shared(python, folder):
    """A module whose helpers are in another one (Cython 3.1+); with and without symbols."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("user.pyx", "run.py"):
        shutil.copy(HERE.parents[2] / "testdata" / "cython" / "shared" / name, folder)
    ask = "import sysconfig; print(sysconfig.get_paths()['include'])"
    include = subprocess.run([python, "-c", ask], text=True, capture_output=True,
                             check=True).stdout.strip()
    cython = [python, "-m", "cython"]
    subprocess.run([*cython, "--generate-shared=_cyutility.c"], cwd=folder, check=True)
    subprocess.run([*cython, "--shared=_cyutility", "user.pyx"], cwd=folder, check=True)
    for place, flags in (("symbols", ["-g"]), ("stripped", ["-s"])):
        (folder / place).mkdir(exist_ok=True)
        shutil.copy(folder / "run.py", folder / place)
        for name in ("_cyutility", "user"):
            subprocess.run(["cc", "-O2", *flags, "-w", "-shared", "-fPIC", "-I" + include, "-o",
                            folder / place / (name + ".so"), folder / (name + ".c")], check=True)


def check_shared(options, python):
    """The number of faults: helpers in a module of their own are not seen."""
    version = install_package(python, "new", "cython", options.cache)
    folder = options.cache / "runs" / "shared"
    try:
        build_shared(python, folder)
    except (OSError, subprocess.CalledProcessError) as error:
        print("SKIP shared helpers: %s" % error)
        return None
    faults = []
    for place in ("symbols", "stripped"):
        for way in ("total", "reader"):
            subprocess.run([python, "-s", "-B", "run.py", way], cwd=folder / place, check=False,
                           preexec_fn=limits, stderr=subprocess.DEVNULL)
            document = report_of_core(options, folder / place)
            frames = document["threads"][0]["frames"] if document else []
            own = [frame for frame in frames
                   if os.path.basename(frame["module"] or "") in ("user.so", "_cyutility.so")]
            seen = [frame["function"] for frame in own if not frame["hidden"]]
            hidden = [frame for frame in own if frame["hidden"] and "_cyutility" in frame["module"]]
            if seen != ["Store.__getbuffer__", way] or not hidden:
                faults.append("%s, %s: %s, %d hidden" % (place, way, seen, len(hidden)))
    print("Cython %s, shared helpers: %s" % (version, faults or "none is seen"))
    return len(faults)


# ---- the same without symbols ----


def check_stripped(options, python, age, name):
    """The number of faults; None when it could not be run."""
    package = WORK[name][0]
    folder = options.cache / "runs" / ("%s-%s-stripped" % (name, age))
    home = strip_package(python, package, folder / "packages")
    originals = {str(library): home / library.relative_to(folder / "packages")
                 for library in (folder / "packages").rglob("*.so")}
    reports = run(options, python, name, "busy", folder, folder / "packages")
    if not reports or None in reports:
        print("SKIP %s (%s), stripped: no report" % (package, age))
        return None
    count = count_reports(reports, name)
    same, wrong = 0, []
    for frame in (frame for document in reports for thread in document["threads"]
                  for frame in thread["frames"]):
        if frame["module"] not in originals or frame["hidden"] or frame["kind"] != "cython":
            continue
        told = compare_stripped(options.program, frame, originals)
        same += told is True
        if told is False:
            wrong.append("not the symbol's name: " + brief(frame))
    print(row(package + " stripped", version_of(python, package),
              reports[0]["target"]["python"]["version"], count.frames), end=" ")
    print("%d of %d names as by symbol" % (same, same + len(wrong)))
    faults = list(dict.fromkeys(wrong + count.faults))
    for fault in faults[:options.show]:
        print("    " + fault)
    # The only report of a function may be that of another one that was put into it.
    return 1 if not same or len(wrong) * 50 > same + len(wrong) else 0


HEAD = "| package | Python | frames | named | line | ~line | no line | nameless | C | lines checked |"


def row(package, version, python, frames):
    named = frames["named"]
    return "| %s %s | %s | %d | %d | %d | %d | %d | %d | %d | %s |" % (
        package, version, python, named + frames["raw"], named, frames["exact"], frames["estimate"],
        frames["none"], frames["raw"], frames["c"],
        "%d of %d" % (frames["inside"], frames["checked"]) if frames["checked"] else "")


def measure(options, python, age, name):
    """Prints the package's line; the number of faults, None when it could not be run."""
    package = (WORK | MORE)[name][0]
    version = install_package(python, age, package, options.cache)
    if not version:
        print("SKIP %s (%s): pip could not install it" % (package, age))
        return None
    folder = options.cache / "runs" / ("%s-%s" % (name, age))
    reports = []
    for mode in ["busy"] if name in ONLY_BUSY else ["busy", "callback"]:
        found = run(options, python, name, mode, folder)
        if not found or None in found:
            errors = (folder / "errors").read_text().strip().splitlines()
            print("SKIP %s %s, %s: %s" % (package, version, mode, errors[-1] if errors else "no report"))
        reports += [document for document in found or [] if document]
    if not reports:
        return None
    count = count_reports(reports, name)
    running = reports[0]["target"]["python"]["version"]
    print(row(package if name != "numpy_random" else "numpy.random", version, running, count.frames))
    for fault in list(dict.fromkeys(count.faults))[:options.show]:
        print("    " + fault)
    for place, times in count.nameless.most_common(options.nameless):
        print("    nameless %d times: %s" % (times, place))
    sys.stdout.flush()
    serious = [fault for fault in count.faults if not fault.startswith("line outside")]
    outside = count.frames["checked"] - count.frames["inside"]
    return len(serious) + (outside if outside * 20 > count.frames["checked"] else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="pystack-core")
    parser.add_argument("--cache", type=Path, default=os.environ.get("PSC_WHEELS"),
                        help="keeps what was installed; default $PSC_WHEELS")
    parser.add_argument("--age", choices=list(PYTHONS), help="only these versions")
    parser.add_argument("--only", action="append", choices=[*WORK, *MORE],
                        help="only this package")
    parser.add_argument("--more", action="store_true", help="also the packages of the second list")
    parser.add_argument("--samples", type=int, default=12, help="looks at each busy process")
    parser.add_argument("--show", type=int, default=8, help="faults to print per package")
    parser.add_argument("--nameless", type=int, default=0, help="nameless places to print")
    parser.add_argument("--keep", action="store_true", help="keeps the core files")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    if not options.cache:
        parser.error("--cache or PSC_WHEELS must name a folder")
    options.cache = options.cache.resolve()
    options.cache.mkdir(parents=True, exist_ok=True)
    results = []
    print(HEAD)
    print("|---" * (HEAD.count("|") - 1) + "|")
    for age in [options.age] if options.age else list(PYTHONS):
        python = install(age, options.cache)
        second = MORE if options.more and age == "new" else ()
        for name in (options.only or [*WORK, *second]) if python else ():
            results.append(measure(options, python, age, name))
        for name in STRIPPED if python else ():
            if name in (options.only or WORK) and version_of(python, WORK[name][0]):
                results.append(check_stripped(options, python, age, name))
        if python and age == "new" and not options.only:
            results.append(check_shared(options, python))
    ran = [faults for faults in results if faults is not None]
    print("%d of %d done, %d faults" % (len(ran), len(results), sum(ran)))
    return 77 if not ran else 1 if sum(ran) else 0


if __name__ == "__main__":
    sys.exit(main())
