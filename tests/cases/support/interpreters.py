"""Finds the CPython interpreters of this machine; nobody is named by a fixed path.

Searched: PATH, /usr/bin, /usr/local/bin, pyenv's and uv's folders, and PSC_TEST_INTERPRETERS
(paths, separated by colons). What is wanted and not there is a skip with a name.

Others come from older and newer Debian suites, unpacked below a folder and run with chroot
(tests/tools/debian_root.sh): used when the folder is there, made with PSC_TEST_SUITES=1.
"""
import functools
import glob
import json
import os
import re
import subprocess
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SUITES = {
    "bullseye": ["python2.7", "python2.7-dbg", "python3.9", "python3.9-dbg"],
    "forky": ["python3.14", "python3.14-dbg", "python3.15", "python3.15-dbg"],
}
SUITE_FOLDER = os.environ.get("PSC_TEST_ROOTS", os.path.join(
    os.environ.get("PSC_TEST_CORES", os.path.join(tempfile.gettempdir(), "pystack-core-cores")), "roots"))

WANTED = [(3, minor) for minor in range(8, 14)]
# In the tests that say OTHER_SUITES = True: what the interpreter alone decides.
ALSO_OLDER = [(2, 7), (3, 6), (3, 7)]
ALSO_NEWER = [(3, 14), (3, 15)]

PROBE = """
import sys, sysconfig, json
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": getattr(getattr(sys, "implementation", None), "name", "cpython"),
    "executable": sys.executable,
    "debug": hasattr(sys, "gettotalrefcount"),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""


class Interpreter:
    def __init__(self, path, facts, root=None):
        self.path = path  # inside of root, when there is one
        self.root = root
        self.version = facts["version"]
        self.minor = tuple(int(part) for part in self.version.split(".")[:2])
        self.debug = facts["debug"]
        self.free_threaded = facts["free_threaded"]

        folders = path.split(os.sep)
        place = next((name for name in ("pyenv", "uv") if name in folders or "." + name in folders),
                     folders[1])
        if root:
            place = os.path.basename(root)
        flavour = ("d" if self.debug else "") + ("t" if self.free_threaded else "")
        # Short, and good for a file name: 3.11.2-usr, 3.12.1-pyenv.
        self.label = "%s%s-%s" % (self.version, flavour, place)

    @property
    def is_system(self):
        return self.path.startswith("/usr/bin/") and not self.root

    @property
    def file(self):
        """Where it is on this machine."""
        return (self.root or "") + self.path

    def __repr__(self):
        return self.label


def _candidates():
    home = os.path.expanduser("~")
    pyenv = os.environ.get("PYENV_ROOT", os.path.join(home, ".pyenv"))
    uv = os.environ.get("UV_PYTHON_INSTALL_DIR", os.path.join(home, ".local/share/uv/python"))
    yield from os.environ.get("PSC_TEST_INTERPRETERS", "").split(":")
    for folder in ["/usr/bin", "/usr/local/bin"]:
        yield from sorted(glob.glob(os.path.join(folder, "python[23]*")))
    for folder in (pyenv + "/versions/*/bin", uv + "/*/bin"):
        yield from sorted(glob.glob(os.path.join(folder, "python[23].*")))
    shims = os.path.join(pyenv, "shims")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.realpath(folder) != os.path.realpath(shims):
            yield from sorted(glob.glob(os.path.join(folder, "python[23]*")))


@functools.lru_cache(maxsize=None)
def find_all():
    """Every CPython here, oldest first; each real file once."""
    found = {}
    for path in _candidates():
        if not re.fullmatch(r"python[23](\.\d+)?[a-z]*", os.path.basename(path)):
            continue
        real = os.path.realpath(path)
        if not os.path.isfile(real) or not os.access(real, os.X_OK):
            continue
        status = os.stat(real)
        if (status.st_dev, status.st_ino) in found:
            continue
        try:
            output = subprocess.run([real, "-E", "-s", "-c", PROBE], capture_output=True, timeout=600,
                                    check=True).stdout
            facts = json.loads(output.decode())
        except (OSError, subprocess.SubprocessError, ValueError):
            continue
        if facts["implementation"] == "cpython":
            found[status.st_dev, status.st_ino] = Interpreter(real, facts)
    ordered = sorted(found.values(), key=lambda one: (one.minor, one.path))
    labels: dict = {}
    for one in ordered:
        labels[one.label] = labels.get(one.label, 0) + 1
        if labels[one.label] > 1:
            one.label += "-%d" % labels[one.label]
    return ordered


def _enter(root):
    def enter():
        os.chroot(root)
        os.chdir("/")
    return enter


@functools.lru_cache(maxsize=None)
def find_in_suites():
    """Those of the other suites; unpacks them when that is asked for."""
    if os.geteuid() != 0:
        return []
    return [one for suite in sorted(SUITES) for one in _find_in_suite(suite, os.path.join(SUITE_FOLDER, suite))]


def _find_in_suite(suite, root):
    if os.environ.get("PSC_TEST_SUITES") == "1":
        os.makedirs(SUITE_FOLDER, exist_ok=True)
        subprocess.run([os.path.join(TESTS, "tools", "debian_root.sh"), suite, root, *SUITES[suite]],
                       check=True, stdout=subprocess.DEVNULL)
    if not os.path.exists(os.path.join(root, ".unpacked")):
        return []
    found = []
    for path in sorted(glob.glob(root + "/usr/bin/python[23].*")):
        if not re.fullmatch(r"python[23]\.\d+(d|-dbg)?", os.path.basename(path)) or os.path.islink(path):
            continue
        inside = path[len(root):]
        output = subprocess.run([inside, "-E", "-s", "-c", PROBE], capture_output=True, timeout=600,
                                check=True, preexec_fn=_enter(root)).stdout
        found.append(Interpreter(inside, json.loads(output.decode()), root))
    return found


def find_with_numpy_2():
    """An interpreter of an environment with numpy 2, made from the newest one here when that is asked for."""
    folder = os.path.join(os.path.dirname(SUITE_FOLDER), "numpy-2")
    path = os.path.join(folder, "bin", "python")
    if os.environ.get("PSC_TEST_SUITES") == "1" and not os.path.exists(os.path.join(folder, ".made")):
        newest = [one for one in find_all() if not one.debug and not one.free_threaded][-1]
        subprocess.run([newest.path, "-m", "venv", "--clear", folder], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([path, "-m", "pip", "-q", "install", "--only-binary", ":all:", "numpy>=2"], check=True,
                       stdout=subprocess.DEVNULL)
        open(os.path.join(folder, ".made"), "w").close()
    if not os.path.exists(os.path.join(folder, ".made")):
        return None
    facts = json.loads(subprocess.run([path, "-c", PROBE], capture_output=True, check=True).stdout.decode())
    found = Interpreter(path, facts)
    found.label += "-numpy-2"
    return found


def find_wanted():
    return [one for one in find_all() if one.minor in WANTED]


def find_with_heap():
    """Whose objects are read as a whole, oldest first; those of other roots are not among them."""
    return [one for one in find_wanted() if not one.root and not one.free_threaded]


def find_newer_in_suites():
    """Releases after those of find_wanted(), of other suites."""
    return [one for one in find_in_suites() if one.minor in ALSO_NEWER and not one.debug]


def find_three():
    """The oldest, one between and the newest of these, none of them the distribution's own."""
    found = [one for one in find_wanted() if not one.is_system and not one.free_threaded and not one.debug]
    return [found[at] for at in sorted({0, len(found) * 2 // 3, len(found) - 1})] if found else []


def in_turn(cases):
    """(case, interpreter): each case with one of three and the distribution's own, by turns; thoroughly with all."""
    some = [one for one in [find_system(), *find_three()] if one]
    return [(case, one) for at, case in enumerate(cases) for one in (
        find_wanted() if os.environ.get("PSC_TEST_THOROUGH") == "1" else some[at % len(some):][:1])]


def find_also():
    """Versions before and after those of find_wanted()."""
    return [one for one in find_all() if one.minor in ALSO_OLDER + ALSO_NEWER] + find_in_suites()


def find_older():
    """Those of 3.x before find_wanted() that can be run without entering another root."""
    return [one for one in find_all() if one.minor in ALSO_OLDER and one.minor >= (3,)]


def find_others():
    """Versions that are not promised: they must still give native stacks and a clear word."""
    return [one for one in find_all() if one.minor not in WANTED]


def find_also_missing():
    have = {one.minor for one in find_also()}
    return ["%d.%d" % minor for minor in ALSO_OLDER + ALSO_NEWER if minor not in have]


def find_missing():
    """["3.14", ...]: the wanted versions that this machine does not have."""
    have = {one.minor for one in find_all()}
    return ["%d.%d" % minor for minor in WANTED if minor not in have]


def find_system():
    """The distribution's own python3, or None."""
    real = os.path.realpath("/usr/bin/python3")
    return next((one for one in find_all() if one.path == real), None)


def find_version(major, minor):
    return next((one for one in find_all() if one.minor == (major, minor)), None)


if __name__ == "__main__":
    for one in find_all() + find_in_suites():
        print("%-16s %s%s" % (one.label, one.file, "" if one.minor in WANTED else "  (not promised)"))
    for version in find_missing():
        print("%-16s missing" % version)
