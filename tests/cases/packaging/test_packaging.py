"""The scripts that make packages: what they say of this tree is true, and the wheel installs.

The program of this build stands in for the static one, which takes minutes to build; test_packages.py has that.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import zipfile

import pytest

import analyzer
import cores
import interpreters

PACKAGING = os.path.join(cores.SOURCE, "packaging")


def read(*parts):
    with open(os.path.join(cores.SOURCE, *parts), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r'^#define PSC_VERSION +"(.*)"$', read("analyzer", "include", "pystack_core.h"), re.M).group(1)


def packages_to_build():
    text = re.search(r'^packages_to_build="(.*?)"', read("tests", "tools", "prepare.sh"), re.M | re.S).group(1)
    return set(text.split())


def test_every_list_of_packages_is_the_same():
    needed = packages_to_build()
    for page in ["README.md"], ["docs", "installing.md"]:
        command = re.search(r"apt-get install ((?:.|\\\n)*?)\n(?!  )", read(*page)).group(1).replace("\\\n", " ")
        assert set(command.split()) == needed, page
    depends = re.search(r"^Build-Depends: (.*?)^\S", read("packaging", "deb", "split", "control"), re.M | re.S).group(1)
    names = {re.sub(r" *\(.*", "", one.strip()) for one in depends.split(",")}
    # What each machine that builds packages has.
    assert names - {"debhelper-compat"} == needed - {"gcc", "libc6-dev"}


def test_versions_agree():
    assert re.match(r"pystack-core \((.*?)\)", read("packaging", "deb", "split", "changelog")).group(1) == version()
    assert "## Unreleased (%s)" % version() in read("CHANGELOG.md") or "## %s" % version() in read("CHANGELOG.md")


def macros_of_musl(headers):
    """What musl's headers define; those of libraries and of the kernel are left out."""
    asked = "".join("#if __has_include(<%s>)\n#include <%s>\n#endif\n" % (name, name) for name in sorted(headers))
    said = subprocess.run(["musl-gcc", "-D_GNU_SOURCE", "-dM", "-E", "-x", "c", "-"], input=asked.encode(), capture_output=True)
    assert said.returncode == 0, said.stderr
    return set(re.findall(r"^#define (\w+)", said.stdout.decode(), re.M))


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc here")
def test_no_name_is_one_of_musls():
    """The static program is built with -Werror, and not in every run: PAGE_SIZE is a macro of musl's limits.h."""
    files = {}
    for folder, _, names in os.walk(os.path.join(cores.SOURCE, "analyzer")):
        for name in names:
            if name.endswith((".c", ".h")):
                files[name] = read(folder, name)
    pattern = re.compile(r"^#include <([\w/]+\.h)>", re.M)
    known = macros_of_musl({header for text in files.values() for header in pattern.findall(text)})

    def headers_of(name):
        found, left = set(), {name}
        while left:
            one = left.pop()
            found.add(one)
            left |= set(re.findall(r'^#include "([\w/]+\.h)"', files[one], re.M)) & files.keys() - found
        return {header for one in found for header in pattern.findall(files[one])}

    wrong = []
    for name, text in files.items():
        own = set(re.findall(r"^# *define +(\w+)", text, re.M)) - set(re.findall(r"^# *ifndef +(\w+)", text, re.M))
        if own & known:
            wrong += [(name, macro) for macro in sorted(own & macros_of_musl(headers_of(name)))]
    assert not wrong


@pytest.mark.parametrize("script", ["release", "static/build", "static/libraries", "wheel/build", "deb/build", "rpm/build"])
def test_scripts_are_scripts(script):
    path = os.path.join(PACKAGING, script)
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", path], check=True)
    wrong = subprocess.run([path, "--no-such-option", "2", "3", "4"], capture_output=True)
    assert wrong.returncode == 64 and b"packaging/" in wrong.stderr


def test_the_checklist_names_what_is_there():
    page = read("docs", "releasing.md")
    for path in re.findall(r"`(packaging/[a-z/-]+)", page):
        assert os.path.exists(os.path.join(cores.SOURCE, path)), path
    assert subprocess.run([os.path.join(PACKAGING, "release"), "--help"], capture_output=True).returncode == 0


# ---- the debuggers' scripts ----

@pytest.mark.parametrize("debugger", ["gdb", "lldb"])
def test_paths_of_scripts(debugger, tmp_path):
    found = analyzer.run("--%s-script" % debugger)
    assert found.returncode == 0 and not found.stderr
    path = found.stdout.rstrip("\n")
    assert os.path.basename(path) == "pystack_core_%s.py" % debugger and os.path.isabs(path)
    assert os.path.isfile(os.path.join(os.path.dirname(path), "pystack_core_loader.py"))
    # A program that was copied away alone says so.
    alone = shutil.copy(analyzer.PROGRAM, tmp_path)
    done = subprocess.run([alone, "--%s-script" % debugger], capture_output=True)
    assert done.returncode == analyzer.EXIT_NOTHING and not done.stdout
    assert b"is not installed with this program" in done.stderr and done.stderr.count(b"\n") == 1


# ---- the wheel ----

@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What packaging/static/build leaves, of this build's program."""
    folder = tmp_path_factory.mktemp("static")
    build = os.environ["PSC_BUILD_DIR"]
    subprocess.run(["cmake", "--install", build, "--prefix", str(folder / "prefix")], check=True, capture_output=True)
    for name in "lib", "include", "etc":
        shutil.rmtree(folder / "prefix" / name, ignore_errors=True)
    notes = folder / "prefix" / "share" / "doc" / "pystack-core"
    notes.mkdir(parents=True)
    shutil.copy(os.path.join(cores.SOURCE, "LICENSE"), notes)
    shutil.copy(os.path.join(PACKAGING, "static", "THIRD-PARTY"), notes)
    return folder


def make_wheel(static, output):
    if subprocess.run(["/usr/bin/python3", "-c", "import wheel"], capture_output=True).returncode:
        pytest.skip("no python3-wheel here")
    subprocess.run([os.path.join(PACKAGING, "wheel", "build"), str(static), str(output)], check=True, capture_output=True)
    wheel, = output.glob("*.whl")
    return wheel


def test_wheel(installed, tmp_path):
    (tmp_path / "once").mkdir()
    (tmp_path / "again").mkdir()
    wheel = make_wheel(installed, tmp_path / "once")
    assert wheel.read_bytes() == make_wheel(installed, tmp_path / "again").read_bytes()
    assert re.fullmatch(r"pystack_core_native-%s-py3-none-(manylinux\w+\.)+musllinux\w+_x86_64\.whl" % re.escape(version()),
                        wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record, = [name for name in names if name.endswith("/RECORD")]
        for line in archive.read(record).decode().splitlines():
            name, digest, size = line.rsplit(",", 2)
            if name != record:
                bytes_ = archive.read(name)
                sha = base64.urlsafe_b64encode(hashlib.sha256(bytes_).digest()).rstrip(b"=").decode()
                assert digest == "sha256=" + sha and int(size) == len(bytes_)
        assert {"LICENSE", "THIRD-PARTY"} <= {os.path.basename(name) for name in names}
    newest = interpreters.find_wanted()[-1]
    environment = tmp_path / "venv"
    subprocess.run([newest.path, "-m", "venv", environment], check=True, capture_output=True)
    subprocess.run([environment / "bin" / "python", "-m", "pip", "install", "-q", "--no-index", wheel], check=True,
                   capture_output=True)
    program = environment / "bin" / "pystack-core"
    said = subprocess.run([program, "--version"], capture_output=True, check=True).stdout.decode()
    assert said == "pystack-core %s\n" % version()
    script = subprocess.run([program, "--gdb-script"], capture_output=True, check=True).stdout.decode().strip()
    assert script == str(environment / "share" / "pystack-core" / "pystack_core_gdb.py") and os.path.isfile(script)
