"""Files that a process, a core or a module names: nobody waits for them, none leads out of its root."""
import os
import shutil
import subprocess
import tempfile

import pytest

import analyzer
import interpreters
import living

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

RESTING_C = """
#include <stdio.h>
#include <unistd.h>
struct pair { int first, second; };
int rest(struct pair *pair) { puts("ready"); fflush(stdout); pause(); return pair->first; }
int main(void) { struct pair pair = {1, 2}; return rest(&pair) + pair.second; }
"""
# Stands in a line of the file that the first argument names, whatever that is.
RESTING = """
import os, sys, time
name, root = sys.argv[1:3]
code = compile("\\n\\ndef rest():\\n    print('ready', flush=True)\\n    time.sleep(600)", name, "exec")
exec(code)
if root != "-":
    os.chroot(root)
rest()
"""
SECRET = "\n\n\n\nvery_secret = 'hidden'\n"
OPEN = "\n\n\n\n    time.sleep(600)  # open\n"


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return str(path)


def compile_c(folder, name, *flags):
    path = os.path.join(folder, name)
    subprocess.run(["cc", "-g", "-O0", *flags, "-x", "c", "-", "-o", path], input=RESTING_C.encode(), check=True)
    return path


def report_of(process, *options):
    """Text with all that looks into files, in a time that nobody notices."""
    result = analyzer.run("--locals", *options, "--pid", process.pid, timeout=60)
    assert result.returncode in (0, 1), result.describe()
    return result.stdout


def rest_at(name, root="-", **someone):
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    return living.running([interpreter.path, "-s", "-c", RESTING, str(name), str(root)], **someone)


def test_a_debug_file_that_is_a_fifo(tmp_path):
    program = compile_c(tmp_path, "program")
    debug = program + ".debug"
    for command in (["--only-keep-debug", program, debug], ["--strip-debug", "--add-gnu-debuglink=" + debug, program]):
        subprocess.run(["objcopy", *command], check=True, cwd=tmp_path)
    os.unlink(debug)
    os.mkfifo(debug)
    with living.running([program]) as process:
        assert " rest " in report_of(process)


@pytest.mark.skipif(not shutil.which("dwz"), reason="dwz is missing")
def test_a_shared_debug_file_that_is_a_fifo(tmp_path):
    programs = [compile_c(tmp_path, name) for name in ("program", "other")]
    shared = os.path.join(tmp_path, "shared")
    subprocess.run(["dwz", "-m", shared, *programs], check=True)
    with living.running([programs[0]]) as process:
        assert "first = 1" in report_of(process)
        os.unlink(shared)
        os.mkfifo(shared)
        assert " rest " in report_of(process)


def test_source_that_is_no_file(tmp_path):
    fifo = os.path.join(tmp_path, "fifo.py")
    os.mkfifo(fifo)
    for name in fifo, "/dev/zero", tmp_path:
        with rest_at(name) as process:
            assert " rest " in report_of(process)


def test_links_of_a_sysroot(tmp_path):
    secret = write(tmp_path / "secret.py", SECRET)
    write(tmp_path / "root" / "there" / "real.py", OPEN)
    for name, target in ("absolute", "/there/real.py"), ("out", secret), ("up", "../../secret.py"):
        os.symlink(target, tmp_path / "root" / "there" / (name + ".py"))
    for name in "absolute", "out", "up":
        with rest_at("/there/%s.py" % name) as process:
            text = report_of(process, "--sysroot", str(tmp_path / "root"))
            assert ("# open" in text) == (name == "absolute")
            assert "very_secret" not in text


@needs_root
def test_links_of_another_root(tmp_path):
    secret = write(tmp_path / "secret.py", SECRET)
    write(tmp_path / "root" / "real.py", OPEN)
    os.symlink("/real.py", tmp_path / "root" / "absolute.py")
    os.symlink(secret, tmp_path / "root" / "out.py")
    for name in "absolute", "out":
        with rest_at("/%s.py" % name, tmp_path / "root") as process:
            text = report_of(process)
            assert ("# open" in text) == (name == "absolute")
            assert "very_secret" not in text


@needs_root
def test_source_that_its_user_may_not_read():
    """The name in a code object can be any: what a user may not read is not shown of his process."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        files = {write(os.path.join(folder, "open.py"), OPEN): "# open",
                 write(os.path.join(folder, "closed.py"), SECRET, 0o600): None,
                 write(os.path.join(folder, "inside", "open.py"), SECRET): None}
        os.chmod(os.path.join(folder, "inside"), 0o700)
        os.symlink(os.path.join(folder, "inside", "open.py"), os.path.join(folder, "link.py"))
        files[os.path.join(folder, "link.py")] = None
        for name, shown in files.items():
            with rest_at(name, **NOBODY) as process:
                text = report_of(process)
                assert " rest " in text
                assert "very_secret" not in text, name
                assert not shown or shown in text
            with rest_at(name) as process:
                assert ("# open" if shown else "very_secret") in report_of(process), name
