"""What cannot be unwound is a gap: nothing vanishes, whichever file is not at hand."""
import contextlib
import os
import shutil
import subprocess

import pytest

import analyzer
import cython_core
import living
import truth

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
needs_mounts = pytest.mark.skipif(not living.can_unshare(), reason="no mounts of our own here (unshare -m fails)")
CASES = ["callbacks", "generators", "compiled_code", "finalizer", "no_unwind_info", "worker_crash"]
# Other files in the place of some, for one program alone: FILE OTHER ... -- COMMAND
ELSEWHERE = """
while [ "$1" != -- ]; do mount --bind "$2" "$1" || exit 3; shift 2; done
shift
exec "$@"
"""


def key_of(frame):
    """What makes a frame itself, whatever is known of its names."""
    if frame["kind"] == "python":
        return truth.key_of_json(frame)
    return int(frame["pc"], 16)


def assert_only_gaps_are_missing(whole, partial, what):
    """The frames of `partial` are those of `whole`, in order, but for what gaps stand for."""
    for thread in partial["threads"]:
        other = analyzer.thread_by_tid(whole, thread["tid"])
        expected = [key_of(frame) for frame in other["frames"]
                    if frame["kind"] != "gap" and not frame["inlined"]]
        at, gap, between = 0, False, False
        for frame in thread["frames"]:
            if frame["kind"] == "gap":
                gap, between = True, "between the Python frames" in frame["function"]
                continue
            if frame["inlined"]:
                continue
            found = next((i for i in range(at, len(expected)) if expected[i] == key_of(frame)), None)
            told = "%s, LWP %d: %s" % (what, thread["tid"], frame["symbol"] or frame["function"])
            assert found is not None, told + " is not in the whole report"
            assert gap or found == at, "%s: %d frames before it are missing" % (told, found - at)
            at, gap = found + 1, between and frame["kind"] == "python"
        assert gap or at == len(expected), "%s: the end of LWP %d is missing" % (what, thread["tid"])


def own_files():
    """Files that the program itself needs."""
    listed = subprocess.run(["ldd", analyzer.PROGRAM], capture_output=True).stdout.decode()
    return {os.path.realpath(word) for word in listed.split() if word.startswith("/")}


def analyze(path, elsewhere):
    """A report as if those files were others."""
    command = ["unshare", "-m", "sh", "-c", ELSEWHERE, "sh",
               *[word for pair in elsewhere.items() for word in pair], "--"]
    done = analyzer.run("--format", "json", "--all", path, through=command)
    assert done.returncode in (analyzer.EXIT_COMPLETE, analyzer.EXIT_PARTIAL), done.describe()
    return done


@needs_mounts
@pytest.mark.cases(CASES, slow=True)
def test_nothing_vanishes_without_a_gap(core):
    """Each file that frames are in, in turn, is not there or another build."""
    whole = analyzer.json_of(core.path, "--all").json
    modules = {frame["module"] for thread in whole["threads"] for frame in thread["frames"]}
    hidden = [path for path in sorted(modules - {None}) if os.path.isfile(path) and
              os.path.realpath(path) not in own_files()]
    assert hidden
    for path in hidden:
        for other in ("/dev/null", "/bin/true"):
            result = analyze(core.path, {path: other})
            analyzer.assert_fits_schema(result.json)
            assert_only_gaps_are_missing(whole, result.json, path)
            assert result.returncode == analyzer.EXIT_PARTIAL, path


WAITING = """
import sys
sys.path.insert(0, sys.argv[1])
import kern, time
def wait(value):
    print("ready", flush=True)
    time.sleep(600)
    return 0
kern.fit(wait)
"""


@contextlib.contextmanager
def waiting(system, folder):
    """A process that waits inside a Cython module of its own in FOLDER."""
    built = os.path.dirname(cython_core.make_cython_core("O2-stripped"))
    module, = (name for name in os.listdir(built) if name.endswith(".so"))
    shutil.copy(os.path.join(built, module), folder)
    with living.running([system.path, "-s", "-c", WAITING, str(folder)]) as process:
        yield process, folder / module


def told(frames):
    return [(frame["kind"], frame["function"], frame["line"]) for frame in frames if not frame["hidden"]]


@needs_root
@pytest.mark.parametrize("fate", ["deleted", "replaced"])
@pytest.mark.parametrize("may_open", [True, False], ids=["all-rights", "memory-alone"])
def test_module_of_a_living_process(system, fate, may_open, tmp_path):
    """Its frames are what they were: by the very file that is mapped, else by the process's memory."""
    less = () if may_open else ("setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore")
    if not may_open and shutil.which("setpriv") is None:
        pytest.skip("no setpriv here")
    with waiting(system, tmp_path) as (process, module):
        before = living.report(process.pid, "--format", "json")
        module.unlink()
        if fate == "replaced":
            shutil.copy("/bin/true", module)
        after = living.report(process.pid, "--format", "json", through=less)
    assert before.returncode == analyzer.EXIT_COMPLETE, before.describe()
    assert told(after.json["threads"][0]["frames"]) == told(before.json["threads"][0]["frames"])
    assert any(frame["kind"] == "cython" and frame["function"] == "Solver.solve"
               for frame in after.json["threads"][0]["frames"])
    if may_open:
        assert after.returncode == analyzer.EXIT_COMPLETE, after.describe()
    else:
        assert after.returncode == analyzer.EXIT_PARTIAL
        assert len([line for line in after.stderr.splitlines() if module.name in line]) == 1


@needs_root
def test_saved_core_of_a_process_whose_module_is_gone(system, tmp_path):
    """It holds what no file will tell any more."""
    with waiting(system, tmp_path) as (process, module):
        before = living.report(process.pid, "--format", "json")
        module.unlink()
        living.report(process.pid, "--save-core", tmp_path / "saved")
    after = analyzer.json_of(tmp_path / "saved")
    assert told(after.json["threads"][0]["frames"]) == told(before.json["threads"][0]["frames"])
