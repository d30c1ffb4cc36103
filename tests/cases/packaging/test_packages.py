"""What packaging/release makes, installed where users install it.

Behind a switch, since it builds and downloads for minutes: `./run-tests --static` builds the static program, whose
wheel is tried; with PSC_TEST_SUITES=1 packages are installed in fresh roots of three suites, too; with PSC_TEST_FRESH=1 the
release is built twice, and README's commands are run, on fresh machines.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import cores
import interpreters

STATIC = os.environ.get("PSC_TEST_STATIC_FOLDER", os.path.join(cores.SOURCE, "build-static"))
PACKAGING = os.path.join(cores.SOURCE, "packaging")
SUITES = os.environ.get("PSC_TEST_SUITES") == "1"
RELEASE = os.environ.get("PSC_TEST_RELEASE", "")  # What packaging/release has made of this tree.
pytestmark = pytest.mark.skipif(not os.access(os.path.join(STATIC, "prefix", "bin", "pystack-core"), os.X_OK),
                                reason="no static program here (./run-tests --static)")
FRESH = os.path.join(cores.SOURCE, "tests", "tools", "fresh_machine.sh")
on_fresh_machines = pytest.mark.skipif(os.environ.get("PSC_TEST_FRESH") != "1" or os.geteuid() != 0,
                                       reason="needs root and PSC_TEST_FRESH=1")
in_suites = pytest.mark.skipif(not SUITES or os.geteuid() != 0, reason="needs root and PSC_TEST_SUITES=1")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, (command, text[-3000:])
    return text


def text_of(text):
    """A report without what differs from machine to machine."""
    return [line for line in text.splitlines() if line.startswith("  #")]


@pytest.fixture(scope="module")
def dead():
    """A core of the newest interpreter, and the stack of its crashed thread."""
    core = cores.make_core("worker_crash", interpreters.find_wanted()[-1]).path
    return core, text_of(run_any(os.path.join(STATIC, "pystack-core"), core))


def run_any(program, core):
    """Whose files may be missing: exit code 0 or 1."""
    done = subprocess.run([str(program), str(core)], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.decode()


# ---- the wheel ----

@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(os.path.join(PACKAGING, "wheel", "build"), STATIC, folder)
    found, = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """An environment with auditwheel, twine and uv."""
    folder = tmp_path_factory.mktemp("tools")
    run(sys.executable, "-m", "venv", folder)
    done = subprocess.run([folder / "bin" / "pip", "install", "-q", "auditwheel", "twine", "uv"], capture_output=True)
    if done.returncode:
        pytest.skip("PyPI is out of reach: %s" % done.stderr.decode()[-200:])
    return folder / "bin"


def test_auditwheel_accepts_it(wheel, tools):
    said = run(tools / "auditwheel", "show", wheel, env=dict(os.environ, PATH="%s:%s" % (tools, os.environ["PATH"])))
    assert "is consistent" in said and "manylinux" in said, said
    assert "PASSED" in run(tools / "twine", "check", "--strict", wheel)


def oldest_and_newest():
    found = [one for one in interpreters.find_all() if one.minor >= (3,) and not one.debug]
    return [found[0], found[-1]] if found else []


@pytest.mark.parametrize("which", [0, 1], ids=["oldest", "newest"])
def test_pip(which, wheel, dead, tmp_path):
    python = oldest_and_newest()[which]
    run(python.path, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "-q", "--no-index", wheel)
    program = tmp_path / "venv" / "bin" / "pystack-core"
    assert text_of(run_any(program, dead[0])) == dead[1]
    commands_work(program, dead[0])


def test_uv_tool(wheel, tools, dead, tmp_path):
    env = dict(os.environ, UV_TOOL_DIR=str(tmp_path / "tools"), UV_TOOL_BIN_DIR=str(tmp_path / "bin"),
               UV_CACHE_DIR=str(tmp_path / "cache"))
    run(tools / "uv", "tool", "install", "--offline", "--python", interpreters.find_wanted()[-1].path, wheel, env=env)
    program = tmp_path / "bin" / "pystack-core"
    assert text_of(run_any(program, dead[0])) == dead[1]
    commands_work(program, dead[0])


def commands_work(program, core):
    """gdb and lldb have them, by the scripts that the program names; it serves where no library is."""
    if shutil.which("gdb"):
        said = run("gdb", "-nx", "-batch", "-ex", "source " + run(program, "--gdb-script").strip(), "-ex", "py-bt-merged",
                   "-c", core)
        assert re.search(r"#\d+ +Python ", said), said
    if shutil.which("lldb"):
        # Debian 12's looks for its own module in a folder that is not there.
        modules = sorted(glob.glob("/usr/lib/llvm-*/lib/python3*/dist-packages"))
        said = run("lldb", "--no-lldbinit", "--batch", "-o", "command script import " + run(program, "--lldb-script").strip(),
                   "-o", "target create -c %s" % core, "-o", "py-bt-merged",
                   env=dict(os.environ, PYTHONPATH=":".join(modules)))
        assert re.search(r"#\d+ +Python ", said), said


TAGS = """
import sys
from packaging import _manylinux, _musllinux, utils
_manylinux._get_glibc_version = lambda: (2, int(sys.argv[2]))
_musllinux._get_musl_version = lambda path: _musllinux._MuslVersion(1, int(sys.argv[3]))
known = set((_manylinux if sys.argv[3] == "0" else _musllinux).platform_tags(["x86_64"]))
tags = utils.parse_wheel_filename(sys.argv[1])[3]
print(sorted(tag.platform for tag in tags if tag.platform in known))
"""


@pytest.mark.parametrize("glibc, musl, expected", [
    (5, 0, "['manylinux1_x86_64', 'manylinux_2_5_x86_64']"), (41, 0, "['manylinux1_x86_64', 'manylinux_2_5_x86_64']"),
    (41, 1, "['musllinux_1_1_x86_64']"), (41, 2, "['musllinux_1_1_x86_64']")])
def test_platforms(wheel, tools, glibc, musl, expected):
    """What pip's own library takes it for on machines of other ages, with glibc and with musl."""
    said = run(tools / "python", "-c", TAGS, wheel.name, glibc, musl)
    assert said.strip() == expected


# ---- Debian's packages, and RPM ----

@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    run(os.path.join(PACKAGING, "deb", "build"), "static", folder, STATIC)
    run(os.path.join(PACKAGING, "rpm", "build"), STATIC, folder)
    return folder


@pytest.fixture(scope="module")
def split_packages(tmp_path_factory):
    """Those of a release that was made, or of this tree, which takes minutes."""
    if RELEASE:
        return pathlib.Path(RELEASE)
    folder = tmp_path_factory.mktemp("split")
    run(os.path.join(PACKAGING, "deb", "build"), "split", folder)
    return folder


def find_nothing_wrong(packages):
    if not shutil.which("lintian"):
        pytest.skip("no lintian here")
    said = run("lintian", "--fail-on", "error", "--allow-root", *packages)
    assert not re.search(r"^[EW]:", said, re.M), said


def test_lintian(packages):
    find_nothing_wrong(packages.glob("*.deb"))


def test_rpm(packages, tmp_path):
    package, = packages.glob("*.rpm")
    database = ["--root", tmp_path, "--dbpath", "/db"]
    names = run("rpm", "-qlp", package).splitlines()
    assert "/usr/bin/pystack-core" in names and "/etc/gdbinit.d/pystack-core.gdb" in names
    run("rpm", *database, "--initdb")
    run("rpm", *database, "-i", "--test", package)


def mirror():
    for line in run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)").splitlines():
        if not re.search("security|updates|backports", line):
            return line.split()[0]
    pytest.skip("no Debian source is configured")


@pytest.fixture(scope="module")
def root_of(tmp_path_factory):
    """A fresh root of a suite, made by mmdebstrap."""
    if SUITES and not shutil.which("mmdebstrap"):
        pytest.skip("no mmdebstrap here")

    def make(suite):
        root = tmp_path_factory.mktemp(suite) / "root"
        # What a mirror that lags behind has is good enough to try a package.
        run("mmdebstrap", "--mode=root", "--variant=apt", "--quiet", '--aptopt=Acquire::Check-Valid-Until "false"', suite,
            root, mirror())
        return root

    return make


def install(root, packages, *more):
    """By apt, in the root: packages of that suite are fetched, too."""
    names = []
    for package in packages:
        shutil.copy(package, root / "tmp")
        names.append("/tmp/" + package.name)
    for words in ["update"], ["-y", "--no-install-recommends", "install", *names, *more]:
        run("chroot", root, "apt-get", "-q", *words,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})


def try_in_root(root, core, stack):
    """The program reads a core, gdb has the commands without being told."""
    shutil.copy(core, root / "tmp" / "core")
    said = subprocess.run(["chroot", root, "pystack-core", "/tmp/core"], capture_output=True)
    assert said.returncode in (0, 1), said.stderr
    names = [re.search(r"Python +(\S+)", line).group(1) for line in stack if " Python " in line]
    assert names and all(name in said.stdout.decode() for name in names)
    in_gdb = run("chroot", root, "gdb", "-batch", "-ex", "py-bt-merged", "-c", "/tmp/core")
    assert re.search(r"#\d+ +Python ", in_gdb), in_gdb


@in_suites
@pytest.mark.parametrize("suite", ["bookworm", "trixie", "sid"])
def test_static_package_installs_everywhere(suite, packages, root_of, dead):
    root = root_of(suite)
    install(root, list(packages.glob("pystack-core-static_*.deb")), "gdb")
    try_in_root(root, *dead)
    run("chroot", root, "dpkg", "--purge", "pystack-core-static")
    assert not (root / "etc" / "gdb" / "gdbinit.d" / "pystack-core.gdb").exists()


@in_suites
def test_split_packages(split_packages, root_of, dead):
    found = [one for one in split_packages.glob("*pystack-core*.deb") if "static" not in one.name]
    wanted = sorted(one for one in found if "-dbgsym_" not in one.name)
    assert len(wanted) == 3 and len(found) == 5
    find_nothing_wrong(wanted)
    root = root_of("bookworm")
    install(root, wanted, "gdb", "gcc", "libc6-dev", "pkg-config")
    try_in_root(root, *dead)
    shutil.copy(os.path.join(cores.SOURCE, "docs", "examples", "print_stacks.c"), root / "tmp")
    run("chroot", root, "sh", "-c", "gcc /tmp/print_stacks.c $(pkg-config --cflags --libs pystack-core) -o /tmp/print_stacks")
    assert "Python" in run("chroot", root, "/tmp/print_stacks", "/tmp/core")


# ---- a whole release ----

def compare_releases(once, again):
    names = sorted(os.listdir(once))
    assert names == sorted(os.listdir(again)) and len(names) == 14
    assert [name for name in names if (once / name).read_bytes() != (again / name).read_bytes()] == []
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=once)
    bill, = once.glob("*.cdx.json")
    document = json.loads(bill.read_text())
    assert {"elfutils", "musl", "libunwind"} <= {one["name"] for one in document["components"]}


@in_suites
def test_release_is_reproducible(tmp_path):
    """Twice, of the static program that is here; the same bytes."""
    for name in "once", "again":
        if name == "once" and RELEASE:
            shutil.copytree(RELEASE, tmp_path / name)
        else:
            run(os.path.join(PACKAGING, "release"), "--output", tmp_path / name, "--static", STATIC)
    compare_releases(tmp_path / "once", tmp_path / "again")


@on_fresh_machines
def test_release_on_fresh_machines(tmp_path):
    """All of it, on two machines that have nothing, in different folders and with different rights."""
    run(FRESH, tmp_path / "once", "/src/pystack-core", "packaging/release", "--output", "/out")
    run(FRESH, tmp_path / "again", "/home/somebody/elsewhere/tree", "sh", "-c",
        "umask 077; packaging/release --output ../release --static ../kept")
    compare_releases(tmp_path / "once" / "out", tmp_path / "again" / "home" / "somebody" / "elsewhere" / "release")


@on_fresh_machines
def test_readme_on_a_fresh_machine(tmp_path):
    """Its two commands; of the tests those that need no process of another machine."""
    said = run(FRESH, tmp_path / "machine", "/root/pystack-core", "sh", "-c", "./run-demo && ./run-tests -- -L unit")
    assert "died of SIGSEGV" in said and "100% tests passed" in said
