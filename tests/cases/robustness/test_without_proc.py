"""Where /proc is not mounted, as in a chroot or before a machine is up, a core file is read as elsewhere."""
import subprocess

import pytest

import analyzer
import confined
import cores
import interpreters

pytestmark = pytest.mark.skipif(analyzer.SANITIZED, reason="sanitizers read /proc themselves")
SCRIPT = """
mount -t tmpfs none /proc || exit 99
program=$1 core=$2
for sandbox in "" --no-sandbox; do
    "$program" $sandbox --all --locals "$core" >plain$sandbox.txt
    "$program" $sandbox --all --locals --sysroot / "$core" >root$sandbox.txt
    "$program" $sandbox --format json --output json=written$sandbox.json "$core" >/dev/null
done
"$program" --bundle files.tar "$core" >/dev/null
"$program" slim --with-files "$core" -o slim.core
for sandbox in "" --no-sandbox; do
    "$program" $sandbox --all --locals --sysroot files.tar "$core" >bundle$sandbox.txt
    "$program" $sandbox --all --locals slim.core >slim$sandbox.txt
done
"$program" --pid $$ >living.txt 2>living.err
echo $? >living.code
"""


@pytest.fixture(scope="module")
def without_proc(tmp_path_factory):
    folder = tmp_path_factory.mktemp("without-proc")
    core = cores.make_core("worker_crash", interpreters.find_wanted()[-1]).path
    done = subprocess.run(["unshare", "-m", "sh", "-uc", SCRIPT, "sh", analyzer.PROGRAM, core], cwd=folder, capture_output=True)
    if done.returncode == 99 or not (folder / "plain.txt").exists():
        pytest.skip("/proc cannot be covered here: %s" % done.stderr.decode().strip())
    return folder, core


def lines(text):
    """Without the first one, which names the core file."""
    return text.splitlines()[1:]


@pytest.mark.parametrize("sandbox", ["", "--no-sandbox"], ids=["sandbox", "no-sandbox"])
def test_reports_are_equal(without_proc, sandbox):
    folder, core = without_proc
    expected = analyzer.run("--all", "--locals", core).stdout
    assert ".py:" in expected and "        " in expected  # Source lines are among it.
    for name in "plain", "root", "bundle", "slim":
        assert lines((folder / (name + sandbox + ".txt")).read_text()) == lines(expected), name
    assert (folder / ("written%s.json" % sandbox)).stat().st_size > 1000


def test_a_living_process_needs_it(without_proc):
    folder, _ = without_proc
    assert (folder / "living.code").read_text() == "%d\n" % analyzer.EXIT_NOTHING
    assert "mount /proc" in (folder / "living.err").read_text() and not (folder / "living.txt").read_text()


SYS_MEMFD_CREATE = 319


@pytest.mark.parametrize("words", [["--locals"], ["triage"], ["heap"], ["slim", "-o", "slim.core"]], ids=lambda words: words[0])
def test_filter_that_forbids_files_in_memory(words, tmp_path):
    """As some containers' do: files without a name serve."""
    core = cores.make_core("worker_crash", interpreters.find_wanted()[-1]).path
    done, free = [subprocess.run([analyzer.PROGRAM, *words, core], cwd=tmp_path, capture_output=True, preexec_fn=prepare)
                  for prepare in (confined.forbid(SYS_MEMFD_CREATE), None)]
    assert (done.returncode, done.stdout, done.stderr) == (free.returncode, free.stdout, free.stderr)
    assert done.returncode in (0, 1) and (done.stdout or words[0] == "slim")
