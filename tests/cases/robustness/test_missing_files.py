"""Files of the dead machine that are gone or replaced: named once each, found again where they are."""
import json
import os
import shutil
import subprocess

import pytest

import analyzer
import cores
import cython_core
import interpreters


def interpreter_with_library():
    """A CPython whose code is in a libpython beside it (as pyenv builds it), and that library."""
    for one in reversed(interpreters.find_wanted()):
        listed = subprocess.run(["ldd", one.path], capture_output=True).stdout.decode()
        for line in listed.splitlines():
            words = line.split()
            if words[0].startswith("libpython") and os.path.isabs(words[2]):
                return one, os.path.realpath(words[2])
    pytest.skip("no CPython with a shared libpython here")


def make_core_with_copies(name, interpreter, library, after, lib="lib"):
    """A core whose libways.so and libpython came from FOLDER/lib; after(FOLDER) then changes that."""
    helpers = cores.native_helpers()
    program = os.path.join(cores.PROGRAMS, "callbacks.py")

    def make(folder):
        where = os.path.join(folder, lib)
        os.makedirs(where)
        ways = shutil.copy(os.path.join(helpers, "libways.so"), where)
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        if library:
            env["LD_PRELOAD"] = shutil.copy(library, where)
        cores.run_to_core([interpreter.path, "-s", program, folder, ways], folder, env)
        after(folder)
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": "kernel"}, file)

    key = cores.digest(program, __file__, helpers, interpreter.path, library or "",
                       os.stat(interpreter.path).st_mtime_ns)
    return cores.Core(cores.made_once(name, key, make), interpreter, "callbacks")


def move_away(folder):
    os.rename(os.path.join(folder, "lib"), os.path.join(folder, "moved"))


def replace(folder):
    """The same name, another build: another build-id."""
    move_away(folder)
    os.mkdir(os.path.join(folder, "lib"))
    cores.compile_c([os.path.join(cores.NATIVE, "ways.c")], os.path.join(folder, "lib", "libways.so"),
                    "-O2", "-shared", "-fPIC", "-pthread", "-w")


@pytest.fixture
def moved(system):
    return make_core_with_copies("moved-extension", system, None, move_away)


@pytest.fixture
def replaced(system):
    return make_core_with_copies("replaced-extension", system, None, replace)


@pytest.fixture
def moved_library():
    interpreter, library = interpreter_with_library()
    return make_core_with_copies("moved-library", interpreter, library, move_away)


@pytest.fixture
def complete(system):
    return cores.make_core("callbacks", system)


@pytest.mark.parametrize("lib,words", [("site-packages/ways", "pip install --target"),
                                       ("_MEI123456", "start the program again"),
                                       ("lib", "it was removed since")])
def test_advice_fits(system, lib, words):
    core = make_core_with_copies("moved-" + lib.replace("/", "-"), system, None,
                                 lambda folder: shutil.rmtree(os.path.join(folder, lib)), lib)
    message = assert_named_once(analyzer.json_of(core.path), "libways.so")
    assert words in message and "--lib-dir" in message and "--sysroot" not in message


def module_of(document, name):
    found = [module for module in document["target"]["modules"]
             if os.path.basename(module["path"]) == name]
    assert len(found) == 1
    return found[0]


def names(document):
    """The crashed thread's Python frames."""
    return [(frame["name"], frame["line"]) for frame in
            analyzer.python_frames(document["threads"][0])]


def assert_named_once(result, name):
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    about = [warning["message"] for warning in result.json["warnings"] if name in warning["message"]]
    assert len(about) == 1, result.json["warnings"]
    lines = [line for line in result.stderr.splitlines() if name in line]
    assert len(lines) == 1 and lines[0].startswith("pystack-core: "), result.stderr
    return about[0]


def test_missing_extension(moved, complete):
    result = analyzer.json_of(moved.path)
    assert_named_once(result, "libways.so")
    assert module_of(result.json, "libways.so")["file"] == "missing"
    assert names(result.json) == names(analyzer.json_of(complete.path).json)


def test_missing_module_that_crashed(system):
    """The frame that died is shown though nothing tells who called it, and no Python frame is lost."""
    built = os.path.dirname(cython_core.make_cython_core("O2-stripped"))
    module, = (name for name in os.listdir(built) if name.endswith(".so"))

    def make(folder):
        for name in (module, "run.py"):
            shutil.copy(os.path.join(built, name), folder)
        how = cores.run_to_core([system.path, "-s", "run.py"], folder, {"PATH": "/usr/bin:/bin"})
        os.remove(os.path.join(folder, module))
        with open(os.path.join(folder, "made.json"), "w") as file:
            json.dump({"by": how}, file)

    folder = cores.made_once("cython-gone", cores.digest(__file__, built, system.path), make)
    document = analyzer.json_of(os.path.join(folder, "core")).json
    first = document["threads"][0]["frames"][0]
    assert (first["kind"], os.path.basename(first["module"])) == ("native", module)
    assert names(document) == names(analyzer.json_of(os.path.join(built, "core")).json)


def test_all_missing_files_at_once(moved_library):
    """Also those that no frame has been found in yet, for want of the others; and what to do, once."""
    result = analyzer.json_of(moved_library.path)
    missing = {os.path.basename(module["path"]) for module in result.json["target"]["modules"]
               if module["file"] == "missing"}
    assert "libways.so" in missing and len(missing) == 2
    told = [warning["message"] for warning in result.json["warnings"] if warning["code"] == "file-missing"]
    assert len(told) == 3 and all(any(name in one for one in told) for name in missing), told
    assert told[-1].startswith("of each of these 2 files") and "--lib-dir" in told[-1]


def test_replaced_extension(replaced, complete):
    """Its symbols would be lies: they are not used."""
    result = analyzer.json_of(replaced.path)
    assert "another build" in assert_named_once(result, "libways.so")
    assert module_of(result.json, "libways.so")["file"] == "mismatch"
    assert names(result.json) == names(analyzer.json_of(complete.path).json)
    for frame in result.json["threads"][0]["frames"]:
        if frame["module"] and frame["module"].endswith("libways.so"):
            assert frame["symbol"] is None and frame["file"] is None


def test_file_cut_off(moved, tmp_path):
    """As an interrupted copy leaves it: the build-id near its beginning is the right one."""
    with open(os.path.join(moved.folder, "moved", "libways.so"), "rb") as file:
        (tmp_path / "libways.so").write_bytes(file.read(6000))
    result = analyzer.json_of(moved.path, "--lib-dir", str(tmp_path))
    assert "cut off" in assert_named_once(result, "libways.so")


@pytest.mark.parametrize("core_name", ["moved", "replaced", "moved_library"])
@pytest.mark.parametrize("way", ["lib-dir", "above-lib-dir", "sysroot", "sysroot-link"])
def test_found_again(core_name, way, request, tmp_path):
    core = request.getfixturevalue(core_name)
    kept = os.path.join(core.folder, "moved")
    if way == "lib-dir":
        options = ("--lib-dir", kept)
    elif way == "above-lib-dir":
        options = ("--lib-dir", os.path.dirname(core.folder))
    else:
        place = tmp_path / core.folder.lstrip("/")
        place.mkdir(parents=True)
        if way == "sysroot":
            shutil.copytree(kept, place / "lib")
        else:
            # Absolute: it begins at the root that it lies in.
            shutil.copytree(kept, tmp_path / "kept")
            (place / "lib").symlink_to("/kept")
        options = ("--sysroot", str(tmp_path))
    result = analyzer.json_of(core.path, *options)
    assert (result.returncode, result.json["warnings"]) == (analyzer.EXIT_COMPLETE, [])
    assert module_of(result.json, "libways.so")["file"] == "found"
    assert any(frame["symbol"] == "ways_call" and frame["file"].endswith("ways.c") and frame["line"]
               for frame in result.json["threads"][0]["frames"])


def test_missing_interpreter_library(moved_library):
    """Without the interpreter's own file the memory still tells the Python frames."""
    result = analyzer.json_of(moved_library.path)
    assert result.returncode == analyzer.EXIT_PARTIAL, result.describe()
    assert any("libpython" in warning["message"] for warning in result.json["warnings"])
    assert module_of(result.json, os.path.basename(next(
        module["path"] for module in result.json["target"]["modules"]
        if "libpython" in module["path"])))["file"] == "missing"
    found = analyzer.json_of(moved_library.path, "--lib-dir", moved_library.folder + "/moved")
    assert result.json["threads"], "threads are shown in any case"
    if result.json["target"]["python"] is not None:
        assert names(result.json) == names(found.json)


def test_debug_directory(moved, tmp_path):
    """Separate debug files are looked for by build-id where we are told to."""
    stripped = tmp_path / "lib"
    stripped.mkdir()
    library = shutil.copy(os.path.join(moved.folder, "moved", "libways.so"), stripped)
    notes = subprocess.run(["readelf", "-n", library], capture_output=True, check=True).stdout.decode()
    build_id = notes.split("Build ID: ")[1].split()[0]
    debug = tmp_path / "debug" / ".build-id" / build_id[:2]
    debug.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", library, debug / (build_id[2:] + ".debug")],
                   check=True)
    subprocess.run(["strip", library], check=True)
    bare = analyzer.json_of(moved.path, "--lib-dir", str(stripped)).json
    full = analyzer.json_of(moved.path, "--lib-dir", str(stripped), "--debug-dir",
                            str(tmp_path / "debug")).json

    def lines(document):
        return [frame["line"] for frame in document["threads"][0]["frames"]
                if frame["symbol"] == "ways_call"]

    assert lines(bare) == [None]
    assert len(lines(full)) == 1 and lines(full)[0] is not None


def test_source_map(complete, tmp_path):
    """Source text is read from where the files are now."""
    shutil.copytree(cores.PROGRAMS, tmp_path / "elsewhere")
    copy = tmp_path / "elsewhere" / "callbacks.py"
    copy.write_text(copy.read_text().replace("witness.die()", "witness.die()  # seen elsewhere"))
    text = analyzer.run("--source-map", "%s=%s" % (cores.PROGRAMS, tmp_path / "elsewhere"),
                        complete.path).stdout
    assert "# seen elsewhere" in text
    assert "# seen elsewhere" not in analyzer.run(complete.path).stdout
