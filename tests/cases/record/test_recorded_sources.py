"""Source text in a profile: of regular files alone, inside of the process's root, that its user may read himself."""
import ctypes
import os
import tempfile

import pytest

import analyzer
import interpreters
import living

IN_OPEN = 0x20  # inotify(7)
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

# Works in a line of each file that an argument names, whatever that is.
WORKING = """
import os, sys
root, *names = sys.argv[1:]
functions = []
for name in names:
    code = compile("\\n\\ndef work():\\n    for number in range(50000):\\n        number * 2", name, "exec")
    found = {}
    exec(code, found)
    functions.append(found["work"])
if root != "-":
    os.chroot(root)
print("ready", flush=True)
while True:
    for function in functions:
        function()
"""
SECRET = "\n\n\n" + "very_secret = 'hidden'\n" * 2
OPEN = "\n\n\n" + "plain_text = 'shown'\n" * 2


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return str(path)


def command(names, root="-"):
    interpreter = interpreters.find_system() or interpreters.find_wanted()[-1]
    return [interpreter.path, "-s", "-c", WORKING, str(root), *[str(name) for name in names]]


def texts_of(*arguments):
    """Of `lines` and `heat`."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = [word for name in ("lines", "heat") for word in ("--output", "%s=%s/%s" % (name, folder, name))]
        result = analyzer.run("record", "--quiet", "--mode", "python", "--duration", "1", *outputs, *arguments,
                              timeout=120)
        assert result.returncode in (0, 1), result.describe()
        texts = []
        for name in "lines", "heat":
            with open(os.path.join(folder, name)) as file:
                texts.append(file.read())
    return texts


def check(texts, names, shown):
    for text in texts:
        for name in names:
            assert str(name) in text, text
        assert ("plain_text" in text) == shown, text
        assert "very_secret" not in text, text


@needs_root
def test_files_that_its_user_may_not_read():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        names = [write(os.path.join(folder, "open.py"), OPEN),
                 write(os.path.join(folder, "closed.py"), SECRET, 0o600),
                 write(os.path.join(folder, "inside", "open.py"), SECRET)]
        os.chmod(os.path.join(folder, "inside"), 0o700)
        names.append(os.path.join(folder, "link.py"))
        os.symlink(names[2], names[3])
        with living.running(command(names), **NOBODY) as process:
            check(texts_of("--pid", process.pid), names, True)
        with living.running(command(names)) as process:
            assert all("very_secret" in text for text in texts_of("--pid", process.pid))


def test_what_is_no_regular_file(tmp_path):
    """A FIFO with text in it: nobody opens it, and the text stays there."""
    fifo = os.path.join(tmp_path, "fifo.py")
    os.mkfifo(fifo)
    names = [write(tmp_path / "open.py", OPEN), fifo, "/dev/zero", tmp_path]
    libc = ctypes.CDLL(None, use_errno=True)
    end = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    try:
        os.write(end, SECRET.encode())
        assert libc.inotify_add_watch(watch, fifo.encode(), IN_OPEN) >= 0
        with living.running(command(names)) as process:
            check(texts_of("--pid", process.pid), names, True)
        with pytest.raises(BlockingIOError):
            os.read(watch, 4096)
        assert os.read(end, 4096) == SECRET.encode()
    finally:
        os.close(watch)
        os.close(end)


@needs_root
def test_another_root(tmp_path):
    """Files are found in the root of the process, and no link leads out of it."""
    names = ["/there/%s.py" % name for name in ("open", "out", "up")]
    secret = write(tmp_path / "secret.py", SECRET)
    write(tmp_path / "root" / "there" / "open.py", OPEN)
    os.symlink(secret, tmp_path / "root" / "there" / "out.py")
    os.symlink("../../secret.py", tmp_path / "root" / "there" / "up.py")
    with living.running(command(names, tmp_path / "root")) as process:
        check(texts_of("--pid", process.pid), names, True)
