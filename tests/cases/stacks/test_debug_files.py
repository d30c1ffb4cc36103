"""Debug information that is not in the program's file: the same lines and values wherever it is."""
import json
import os
import re
import shutil
import subprocess

import pytest

import analyzer
import cores

SOURCE = os.path.join(cores.NATIVE, "values.c")


def run(folder, *command):
    if shutil.which(command[0]) is None:
        pytest.skip("no %s here" % command[0])
    return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout.decode()


def core_of(flags):
    """A folder of `values` and its core; it was compiled in `made`, where it looks for its .dwo."""
    def make(folder):
        made = os.path.join(folder, "made")
        os.mkdir(made)
        run(made, "gcc", "-w", *flags, "-c", SOURCE, "-o", "values.o")
        run(made, "gcc", "values.o", "-Wl,--build-id", "-o", "../values", "-lm")
        cores.run_to_core([os.path.join(folder, "values")], folder)
    return cores.made_once("debug-files" + "".join(flags), cores.digest(__file__, SOURCE, " ".join(flags)), make)


def frames_of(folder, *options):
    result = analyzer.run("--format", "json", "--mode", "native", "--locals", *options, os.path.join(folder, "core"))
    analyzer.assert_fits_schema(result.json)
    kept = [(frame["function"], frame["file"], frame["line"], frame.get("locals"))
            for frame in result.json["threads"][0]["frames"]
            if frame["file"] and frame["file"].endswith("values.c")]
    return kept, {warning["code"]: warning["message"] for warning in result.json["warnings"]}


# Of values.c, at the calls in which it dies: what has been on the stack before.
UNASSIGNED = ("answer", "below", "result")


def of_every_run(frames):
    """Without what is another in each process: addresses, and variables that have no value yet."""
    frames = [[*place, {name: value for name, value in (values or {}).items() if name not in UNASSIGNED}]
              for *place, values in frames]
    return re.sub(r"0x[1-9a-f][0-9a-f]*", "0x", json.dumps(frames))


@pytest.fixture
def taken(tmp_path):
    """The core's folder, to be changed, and what is shown of it as it was compiled."""
    folder = core_of(["-g", "-O0"])
    expected, _ = frames_of(folder)
    assert [frame[0] for frame in expected] == ["inlined", "innermost", "middle", "spends", *4 * ["recurse"], "main"]
    assert all(frame[3] for frame in expected)
    mapped = os.path.join(folder, "values")
    away = tmp_path / "values-whole"
    shutil.copy(mapped, away)
    yield folder, mapped, expected
    shutil.copy(away, mapped)
    for name in ("values.debug", ".debug"):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.exists(path):
            os.remove(path)


def strip(folder, *how):
    """`values` without debug information, which is in values.debug then."""
    run(folder, "objcopy", "--only-keep-debug", *how, "values", "values.debug")
    run(folder, "strip", "values")


def build_id(folder):
    return re.search(r"Build ID: ([0-9a-f]+)", run(folder, "readelf", "-n", "values")).group(1)


def test_nothing_is_shown_without_it(taken):
    folder, _, _ = taken
    strip(folder)
    os.remove(os.path.join(folder, "values.debug"))
    assert frames_of(folder)[0] == []


@pytest.mark.parametrize("where", ["values.debug", ".debug/values.debug"])
@pytest.mark.parametrize("compressed", [[], ["--compress-debug-sections=zlib"], ["--compress-debug-sections=zlib-gnu"]],
                         ids=["plain", "zlib", "zlib-gnu"])
def test_named_by_a_link(taken, where, compressed):
    folder, _, expected = taken
    strip(folder, *compressed)
    run(folder, "objcopy", "--add-gnu-debuglink=values.debug", "values")
    os.makedirs(os.path.join(folder, os.path.dirname(where)), exist_ok=True)
    os.rename(os.path.join(folder, "values.debug"), os.path.join(folder, where))
    assert frames_of(folder)[0] == expected


def test_one_of_another_build_is_not_used(taken):
    folder, _, _ = taken
    strip(folder)
    run(folder, "objcopy", "--add-gnu-debuglink=values.debug", "values")
    run(folder, "gcc", "-w", "-g", "-O1", SOURCE, "-o", "values.debug", "-lm")
    assert frames_of(folder)[0] == []


def test_by_build_id_below_a_folder(taken, tmp_path):
    folder, _, expected = taken
    name = build_id(folder)
    strip(folder)
    place = tmp_path / ".build-id" / name[:2]
    place.mkdir(parents=True)
    shutil.move(os.path.join(folder, "values.debug"), place / (name[2:] + ".debug"))
    assert frames_of(folder)[0] == []
    assert frames_of(folder, "--debug-dir", tmp_path)[0] == expected


@pytest.mark.parametrize("where", ["named", "build-id"])
def test_shared_parts_that_dwz_moved(taken, tmp_path, where):
    folder, _, expected = taken
    name = build_id(folder)
    strip(folder)
    os.rename(os.path.join(folder, "values.debug"), tmp_path / "values.debug")
    shutil.copy(tmp_path / "values.debug", tmp_path / "other.debug")
    shared = tmp_path / "shared.debug"
    run(tmp_path, "dwz", "-m", shared, "-M", shared if where == "named" else "/nowhere/shared.debug", "values.debug",
        "other.debug")
    assert "gnu_debugaltlink" in run(tmp_path, "readelf", "-SW", "values.debug")
    if where == "build-id":
        shared_name = re.search(r"Build ID: ([0-9a-f]+)", run(tmp_path, "readelf", "-n", shared)).group(1)
        place = tmp_path / ".build-id" / shared_name[:2]
        place.mkdir(parents=True)
        shutil.move(shared, place / (shared_name[2:] + ".debug"))
    place = tmp_path / ".build-id" / name[:2]
    place.mkdir(parents=True, exist_ok=True)
    shutil.move(tmp_path / "values.debug", place / (name[2:] + ".debug"))
    assert frames_of(folder, "--debug-dir", tmp_path)[0] == expected


@pytest.mark.parametrize("dwarf", ["-gdwarf-5", "-gdwarf-4"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_split_units(dwarf, level, tmp_path):
    folder = core_of(["-g", dwarf, level, "-gsplit-dwarf"])
    expected, _ = frames_of(core_of(["-g", dwarf, level]))
    found, warnings = frames_of(folder)
    assert of_every_run(found) == of_every_run(expected) and "debug-info-split" not in warnings
    # Without it, or with another one, the lines are left, and a sentence.
    split = os.path.join(folder, "made", "values.dwo")
    shutil.copy(split, tmp_path / "kept.dwo")
    try:
        for damage in ("missing", "foreign", "cut", "fifo"):
            os.remove(split)
            if damage == "foreign":
                run(tmp_path, "gcc", "-w", "-g", dwarf, "-O1", "-gsplit-dwarf", "-c", SOURCE, "-o", "other.o")
                shutil.copy(tmp_path / "other.dwo", split)
            elif damage == "cut":
                with open(tmp_path / "kept.dwo", "rb") as file, open(split, "wb") as cut:
                    cut.write(file.read(700))
            elif damage == "fifo":
                os.mkfifo(split)
            found, warnings = frames_of(folder)
            assert not any(frame[3] for frame in found) and len(found) >= 5, damage
            assert "values.dwo" in warnings["debug-info-split"], damage
            if damage == "missing":
                open(split, "w").close()
    finally:
        if os.path.lexists(split):
            os.remove(split)
        shutil.copy(tmp_path / "kept.dwo", split)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("dwarf", ["-gdwarf-5", "-gdwarf-4"])
def test_split_units_on_another_machine(compiler, dwarf, tmp_path):
    """Listed and carried along, and found below another root, where libdw itself does not look."""
    if shutil.which(compiler) is None:
        pytest.skip("no %s here" % compiler)
    folder = tmp_path / "home"
    made = folder / "made"
    made.mkdir(parents=True)
    run(made, compiler, "-w", "-g", dwarf, "-O1", "-gsplit-dwarf", "-c", SOURCE, "-o", "values.o")
    run(made, compiler, "values.o", "-Wl,--build-id", "-o", "../values", "-lm")
    cores.run_to_core([str(folder / "values")], str(folder))
    expected, warnings = frames_of(folder)
    assert any(frame[3] for frame in expected) and "debug-info-split" not in warnings
    files = analyzer.run("--list-files", "--format", "json", folder / "core").json["files"]
    split, = [file for file in files if file["path"].endswith("values.dwo")]
    assert split["kind"] == "debug" and split["file"] == "found" and split["here"] == str(made / "values.dwo")
    bundle = tmp_path / "bundle.tar"
    assert analyzer.run("--bundle", bundle, folder / "core").returncode == analyzer.EXIT_PARTIAL  # No Python.
    away = tmp_path / "away"
    shutil.copytree(folder, str(away) + str(folder))
    shutil.copy(folder / "core", tmp_path / "core")
    # One that is here by chance, of another program.
    os.remove(made / "values.dwo")
    run(made, compiler, "-w", "-g", dwarf, "-O0", "-DOTHER", "-gsplit-dwarf", "-c", SOURCE, "-o", "values.o")
    for root in (bundle, away):
        found, warnings = frames_of(tmp_path, "--sysroot", root)
        assert found == expected and "debug-info-split" not in warnings
    shutil.rmtree(folder)
    for root in (bundle, away):
        found, warnings = frames_of(tmp_path, "--sysroot", root)
        assert found == expected and "debug-info-split" not in warnings
    shutil.rmtree(str(away) + str(made))
    found, warnings = frames_of(tmp_path, "--sysroot", away)
    assert not any(frame[3] for frame in found) and "values.dwo" in warnings["debug-info-split"]
    files = analyzer.run("--list-files", "--format", "json", "--sysroot", away, tmp_path / "core").json["files"]
    assert [file["file"] for file in files if file["path"] == str(made / "values.dwo")] == ["missing"]


@pytest.mark.parametrize("packer", ["dwp", "llvm-dwp"])
@pytest.mark.parametrize("dwarf", ["-gdwarf-5", "-gdwarf-4"])
def test_split_units_in_one_package(packer, dwarf, tmp_path):
    """All .dwo files of a program in PROGRAM.dwp, as dwp(1) and llvm-dwp put them there; two units of one program."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "more.c").write_text("int more(int x) { volatile int twice = 2 * x; return twice; }\n")
    for name in SOURCE, "more.c":
        run(folder, "gcc", "-w", "-g", dwarf, "-O0", "-gsplit-dwarf", "-c", name)
    run(folder, "gcc", "more.o", "values.o", "-Wl,--build-id", "-o", "values", "-lm")
    cores.run_to_core([str(folder / "values")], str(folder))
    expected, warnings = frames_of(folder)
    assert any(frame[3] for frame in expected) and "debug-info-split" not in warnings
    if shutil.which(packer) is None:
        pytest.skip("no %s here" % packer)
    done = subprocess.run([packer, "-e", "values", "-o", "values.dwp"], cwd=folder, capture_output=True)
    if done.returncode:
        pytest.skip("%s does not take this: %s" % (packer, done.stderr.decode()[-200:]))
    for name in "values.dwo", "more.dwo":
        (folder / name).unlink()
    found, warnings = frames_of(folder)
    assert found == expected and "debug-info-split" not in warnings
    files = analyzer.run("--list-files", "--format", "json", folder / "core").json["files"]
    assert [file["file"] for file in files if file["path"] == str(folder / "values.dwp")] == ["found"]
    assert not [file for file in files if file["path"].endswith(".dwo")]
    # Damaged, and of another program: the lines are left, and a sentence.
    whole = (folder / "values.dwp").read_bytes()
    (folder / "values.dwp").write_bytes(whole[:len(whole) // 2])
    found, warnings = frames_of(folder)
    assert not any(frame[3] for frame in found) and "values.dwo" in warnings["debug-info-split"]


TYPED = """
#include <stdlib.h>
enum colour { red, green };
struct inner { int a; enum colour c; };
struct outer { struct inner in; const char *name; struct outer *link; };
namespace ns { template <class A, class B> struct pair { A a; B b; }; }
int die(outer *o, colour c) { ns::pair<int, double> both = {3, 4.5}; if (c == green && both.a) abort(); return 0; }
int main() { outer o = {{1, green}, "text", 0}; o.link = &o; return die(&o, o.in.c); }
"""


@pytest.mark.parametrize("dwarf", ["-gdwarf-4", "-gdwarf-5"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_type_units_of_split_files(compiler, dwarf, tmp_path):
    """In sections of their own in a .dwo, which gcc puts before that of the unit, and in both packers' .dwp."""
    (tmp_path / "program.cc").write_text(TYPED)
    run(tmp_path, compiler, "-g", dwarf, "-O0", "-gsplit-dwarf", "-fdebug-types-section", "-c", "program.cc")
    run(tmp_path, compiler, "program.o", "-Wl,--build-id", "-o", "program")
    cores.run_to_core([str(tmp_path / "program")], str(tmp_path))

    def assert_all_known():
        said = analyzer.run("--mode", "native", "--locals", tmp_path / "core")
        assert re.search(r"c = green\n.* both = {a = 3, b = 4.5}\n", said.stdout), said.describe()
        assert re.search(r'o = {in = {a = 1, c = green}, name = 0x\w+ "text", link = 0x\w+}', said.stdout)
        assert "type units" not in said.stderr

    assert_all_known()
    package = tmp_path / "program.dwp"
    for packer in ("dwp", "llvm-dwp"):
        if shutil.which(packer) and not subprocess.run([packer, "-e", "program", "-o", package], cwd=tmp_path,
                                                       capture_output=True).returncode:
            shutil.move(tmp_path / "program.dwo", tmp_path / "away.dwo")
            assert_all_known()
            shutil.move(tmp_path / "away.dwo", tmp_path / "program.dwo")
            whole = package.read_bytes()
            package.unlink()
    package.write_bytes(whole.replace(b".debug_tu_index", b".debug_no_index"))
    (tmp_path / "program.dwo").unlink()
    said = analyzer.run("--mode", "native", "--locals", tmp_path / "core")
    assert "o = <incomplete type>" in said.stdout, said.describe()
    assert "in type units that are not in %s" % package in said.stderr


def test_mini_debug_info(taken, tmp_path):
    """Fedora's .gnu_debugdata: an xz stream in the file itself, with the symbols that .dynsym has not."""
    folder, mapped, expected = taken
    run(folder, "objcopy", "--only-keep-debug", "values", tmp_path / "debug")
    kept = [line.split()[-1] for line in run(folder, "nm", "--defined-only", "values").splitlines() if line.split()[1] in "tT"]
    (tmp_path / "kept").write_text("\n".join(kept))
    run(folder, "objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment",
        "--keep-symbols=%s" % (tmp_path / "kept"), tmp_path / "debug", tmp_path / "mini")
    run(folder, "xz", tmp_path / "mini")
    run(folder, "strip", "values")

    def names():
        frames = analyzer.run("--format", "json", "--mode", "native", os.path.join(folder, "core")).json["threads"][0]["frames"]
        return [frame["function"] for frame in frames if frame["module"] == mapped]

    assert set(names()) == {None}
    plain = shutil.copy(mapped, tmp_path / "plain")
    run(folder, "objcopy", "--add-section", ".gnu_debugdata=%s" % (tmp_path / "mini.xz"), "values")
    assert names() == [frame[0] for frame in expected if frame[0] != "inlined"] + ["_start"]
    # What is no such stream is as none.
    packed = (tmp_path / "mini.xz").read_bytes()
    for damage in packed[:len(packed) // 2], b"no xz", b"":
        (tmp_path / "bad").write_bytes(damage)
        run(folder, "objcopy", "--add-section", ".gnu_debugdata=%s" % (tmp_path / "bad"), plain, "values")
        assert set(names()) == {None}
