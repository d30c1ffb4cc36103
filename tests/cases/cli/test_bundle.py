"""The files that a report needs: listed, carried along in one archive, and read from it on another machine."""
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
from typing import List

import pytest

import analyzer
import cores
import cython_core
import interpreters
import living

ENDINGS = [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"]
CRASH = """
import ctypes, sys
def crash(library):
    ctypes.CDLL(library).ways_crash(1)
def main(): crash(sys.argv[1])
main()
"""


def files_of(*options):
    result = analyzer.run("--list-files", "--format", "json", *options)
    analyzer.assert_fits_schema(result.json)
    return result.json["files"], result


def by_kind(files, kind):
    return {file["path"]: file for file in files if file["kind"] == kind}


def reports(path, *options):
    """What is said of a core, in each way; warnings on standard error as well."""
    ways: List[List[str]] = [[], ["--all"], ["--format", "json"], ["--format", "json", "--all"]]
    results = [analyzer.run(*way, *options, path) for way in ways]
    return [(result.returncode, result.stdout, result.stderr) for result in results]


# ---- the list ----

def test_list_of_a_core(any_core):
    files, result = files_of(any_core)
    plain = analyzer.json_of(any_core)
    assert result.returncode == plain.returncode and result.json["warnings"] == plain.json["warnings"]
    program, = by_kind(files, "executable").values()
    assert os.path.realpath(plain.json["target"]["executable"]) == program["path"] and program["file"] == "found"
    mapped = {**by_kind(files, "library"), program["path"]: program}
    for module in plain.json["target"]["modules"]:
        if module["path"] in mapped:
            assert mapped[module["path"]]["build_id"] == module["build_id"]
            assert mapped[module["path"]]["file"] == module["file"]
    assert any(path.endswith("libways.so") for path in mapped)
    sources = by_kind(files, "source")
    shown = {frame["file"] for thread in plain.json["threads"] for frame in thread["frames"]
             if frame["kind"] == "python" and os.path.isfile(frame["file"])}
    assert shown and all(sources[path]["file"] == "found" and sources[path]["here"] == path for path in shown)
    text = analyzer.run("--list-files", any_core)
    assert text.returncode == result.returncode
    lines = text.stdout.splitlines()
    assert len(lines) == len(files) + 2 and lines[-1].startswith("  %d files" % len(files))
    for file, line in zip(files, lines[1:]):
        state = {"found": "here", "missing": "missing", "mismatch": "other build"}[file["file"]]
        assert line.strip().startswith(state) and file["path"] in line and (file["build_id"] or "") in line


def test_list_of_a_cython_core():
    core = cython_core.make_cython_core("O2")
    folder = os.path.dirname(core)
    files, result = files_of(core)
    assert result.returncode == 0, result.describe()
    assert by_kind(files, "cython")[folder + "/kern.c"]["file"] == "found"
    assert by_kind(files, "source")[folder + "/kern.pyx"]["file"] == "found"


def test_list_of_living_processes(tmp_path):
    with living.one_busy() as process:
        files, result = files_of("--pid", process.pid)
        assert by_kind(files, "executable") and result.json["target"]["pid"] == process.pid
        result = analyzer.run("--list-files", "--format", "json", "--children", "--pid", process.pid)
        assert json.loads(result.stdout)["schema"] == "pystack-core-files/1"
        bundle = tmp_path / "living.tar"
        assert living.report(process.pid, "--bundle", bundle, "--save-core", tmp_path / "core").returncode == 0
    with tarfile.open(bundle) as archive:
        names = archive.getnames()
        assert living.BUSY[1:] in names and len(names) == len(set(names))


# ---- moved to another machine ----

def make_moved_core(folder, interpreter):
    """A core whose program, library and debug file are below a folder that can be taken away."""
    place = folder / "place"
    place.mkdir()
    source = os.path.join(cores.NATIVE, "ways.c")
    library, debug = place / "libmine.so", place / "libmine.so.debug"
    text = "void ways_crash(int depth) { if (depth) ways_crash(depth - 1); else *(volatile int *)0 = 1; }\n"
    (place / "mine.c").write_text(text)
    cores.compile_c([str(place / "mine.c")], str(library), "-g", "-O0", "-shared", "-fPIC")
    for command in (["objcopy", "--only-keep-debug", library, debug], ["strip", "-g", library],
                    ["objcopy", "--add-gnu-debuglink=libmine.so.debug", library]):
        subprocess.run(command, check=True, cwd=place, capture_output=True)
    (place / "crash.py").write_text(CRASH)
    assert os.path.exists(source)
    cores.run_to_core([interpreter.path, "-s", str(place / "crash.py"), str(library)], str(folder))
    return folder / "core", place


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_that_are_gone(ending, tmp_path, system):
    core, place = make_moved_core(tmp_path, system)
    before = reports(core)
    assert before[0][0] == 0 and "ways_crash" in before[0][1] and "mine.c:1" in before[0][1]
    bundle = tmp_path / ("bundle" + ending)
    result = analyzer.run("--bundle", bundle, core)
    assert (result.returncode, result.stdout) == before[0][:2], result.describe()
    assert os.stat(bundle).st_mode & 0o777 == 0o600
    shutil.move(place, tmp_path / "gone")
    assert reports(core) != before
    assert reports(core, "--sysroot", bundle) == before
    # Again from the archive: nothing is lost on the way.
    again = tmp_path / "again.tar.zst"
    assert analyzer.run("--sysroot", bundle, "--bundle", again, core).returncode == 0
    assert reports(core, "--sysroot", again) == before
    # A list of what is in the archive names no place of this machine.
    files, _ = files_of("--sysroot", bundle, core)
    mine, = [file for path, file in by_kind(files, "library").items() if path.endswith("libmine.so")]
    assert (mine["file"], mine["here"]) == ("found", None)
    assert sorted(os.listdir(tmp_path)) == sorted(["again.tar.zst", "core", "gone", bundle.name])


def carried_program(root):
    """The program and its libraries below root/carried, started by their own loader; the rest of root is empty."""
    carried = root / "carried"
    carried.mkdir(parents=True)
    archive = [path for path in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                                               env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}).stdout.split()
               if path.endswith("/libarchive.so.13")]
    listed = subprocess.run(["ldd", analyzer.PROGRAM, *archive[:1]], capture_output=True, text=True).stdout
    for path in sorted(set(re.findall(r"/\S+\.so\S*(?= )", listed))) + archive[:1]:
        shutil.copy(path, carried)
    shutil.copy(analyzer.PROGRAM, carried)
    loader, = [name for name in os.listdir(carried) if name.startswith("ld-linux")]
    for folder in ("proc", "scratch", "dev"):
        (root / folder).mkdir()
    (root / "dev" / "null").touch()
    script = 'mount -t proc proc "$0/proc" && mount --bind /dev/null "$0/dev/null" && exec chroot "$0" "$@"'
    return ["unshare", "-m", "sh", "-c", script, str(root), "/carried/" + loader, "--library-path", "/carried",
            "/carried/" + os.path.basename(analyzer.PROGRAM)]


@pytest.mark.parametrize("which", ["python", "cython"])
def test_another_root(which, any_core, tmp_path):
    """A root in which there is nothing but the program, a core and its bundle."""
    if analyzer.SANITIZED:
        pytest.skip("the sanitizers' libraries are not carried along")
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("another root needs root")
    core = any_core if which == "python" else cython_core.make_cython_core("O2")
    ways: List[List[str]] = [[], ["--all"], ["--format", "json"], ["--all", "--format", "json"]]
    before = [analyzer.run(*way, core).stdout for way in ways]
    assert analyzer.run("--bundle", tmp_path / "bundle.tar.zst", core).returncode == 0
    root = tmp_path / "root"
    command = carried_program(root)
    os.makedirs(os.path.dirname(str(root) + core))
    shutil.copy(core, str(root) + core)
    shutil.copy(tmp_path / "bundle.tar.zst", root)
    for way, said in zip(ways, before):
        done = subprocess.run(command + ["--sysroot", "/bundle.tar.zst", *way, core], capture_output=True, timeout=600,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": "/scratch"})
        assert (done.returncode, done.stdout.decode()) == (0, said), done.stderr
    assert os.listdir(root / "scratch") == []


# ---- archives that somebody else made ----

@contextlib.contextmanager
def archive_at(path, mode="w"):
    with tarfile.open(path, mode) as archive:
        def add(name, data=b"", **fields):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            for field, value in fields.items():
                setattr(entry, field, value)
            archive.addfile(entry, io.BytesIO(data))
        yield add


def test_archive_of_a_whole_system(tmp_path, system):
    """With links between folders, as `tar -C / -c usr lib` has them."""
    core, place = make_moved_core(tmp_path, system)
    before = reports(core)
    path = tmp_path / "system.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(place, "./somewhere/else")
        for name, target in ((str(place)[1:], "/alias"), ("alias", "somewhere/else")):
            link = tarfile.TarInfo("./" + name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    shutil.move(place, tmp_path / "gone")
    assert reports(core, "--sysroot", path) == before


def test_hostile_archive(tmp_path, system):
    core, place = make_moved_core(tmp_path, system)
    (place / "crash.py").rename(tmp_path / "moved.py")
    before = analyzer.run(core)
    source = str(place / "crash.py")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    secret = tmp_path / "secret.py"
    secret.write_text("the secret\n" * 10)
    for what in ({"type": tarfile.SYMTYPE, "linkname": str(secret)},
                 {"type": tarfile.SYMTYPE, "linkname": "../" * 40 + str(secret)},
                 {"type": tarfile.SYMTYPE, "linkname": "/proc/self/root" + str(secret)},
                 {"type": tarfile.SYMTYPE, "linkname": source}, {"type": tarfile.LNKTYPE, "linkname": str(secret)},
                 {"type": tarfile.FIFOTYPE}, {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5},
                 {"type": tarfile.DIRTYPE}):
        path = tmp_path / "hostile.tar"
        with archive_at(path) as add:
            add("../../../../../../../../%s/planted" % temporary, b"planted")
            add("%s/planted" % temporary, b"planted")
            add(source, **what)
        result = analyzer.run("--sysroot", path, core, env={"TMPDIR": str(temporary)})
        assert (result.returncode, result.stdout) == (before.returncode, before.stdout), (what, result.describe())
        assert os.listdir(temporary) == [], what


def test_paths_lead_back_into_the_archive(tmp_path, system):
    """What climbs above the root is at the root, as in the target's file system; the last of a name counts."""
    core, place = make_moved_core(tmp_path, system)
    text = (place / "crash.py").read_bytes()
    before = analyzer.run(core)
    (place / "crash.py").unlink()
    with archive_at(tmp_path / "up.tar") as add:
        add(str(place / "crash.py"), b"nothing of it\n" * 20)
        add("../../x/..%s/./crash.py" % place, text)
    result = analyzer.run("--sysroot", tmp_path / "up.tar", core)
    assert (result.returncode, result.stdout) == (before.returncode, before.stdout), result.describe()


def test_archives_that_cannot_be_read(any_core, tmp_path):
    good = tmp_path / "good.tar.gz"
    assert analyzer.run("--bundle", good, any_core).returncode == 0
    data = good.read_bytes()
    with open(any_core, "rb") as file:
        begin = file.read(65536)
    for name, content, word in (("cut.tar.gz", data[:len(data) // 2], "damaged or cut off"), ("empty", b"", "archive"),
                                ("text", b"no archive\n" * 99, "archive"), ("core", begin, "archive")):
        (tmp_path / name).write_bytes(content)
        result = analyzer.run("--sysroot", tmp_path / name, any_core)
        assert result.returncode == analyzer.EXIT_NOTHING and not result.stdout, (name, result.describe())
        assert result.stderr.count("\n") == 1 and word in result.stderr, result.stderr


def test_archive_that_grows(any_core, tmp_path):
    """A small one that unpacks to more than there may be: refused, and soon."""
    path = tmp_path / "bomb.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("large")
        # GNU's sparse format 1.0: a map in front of the data; 2^40 bytes, of which one block is there.
        entry.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "large",
                             "GNU.sparse.realsize": str(1 << 40)}
        data = b"1\n1099511627264\n512\n".ljust(512, b"\0") + b"x" * 512
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    begun = time.monotonic()
    result = analyzer.run("--sysroot", path, any_core)
    assert result.returncode == analyzer.EXIT_NOTHING and "64 GB" in result.stderr, result.describe()
    assert time.monotonic() - begun < 30


def test_wrong_usage(any_core, tmp_path):
    for arguments in (["--bundle", tmp_path / "bundle.zip"], ["--bundle", ".tar"],
                      ["--list-files", "--eval", "main/0: x"], ["--bundle", "x.tar", "--pid", "1", "--watch", "1"]):
        result = analyzer.run(*arguments, *([] if "--pid" in arguments else [any_core]))
        assert result.returncode == analyzer.EXIT_USAGE and not result.stdout, result.describe()
    result = analyzer.run("--bundle", tmp_path / "no" / "such.tar", any_core)
    assert result.returncode == analyzer.EXIT_NOTHING and "No such file" in result.stderr


def test_bundle_without_the_library(any_core, tmp_path):
    """libarchive is loaded when it is needed; without it one sentence says so."""
    if os.geteuid() != 0 or analyzer.SANITIZED:
        pytest.skip("another root needs root, and none of the sanitizers' libraries")
    command = carried_program(tmp_path / "root")
    (tmp_path / "root" / "carried" / "libarchive.so.13").unlink()
    shutil.copy(any_core, tmp_path / "root" / "core")
    done = subprocess.run(command + ["--bundle", "/b.tar", "/core"], capture_output=True, timeout=600,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    if b"mount" in done.stderr:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 2 and b"libarchive.so.13 is not installed" in done.stderr, done
    assert interpreters.find_system() is None or b"Thread " in done.stdout
