"""Targets in containers, and looks by who may not do all."""
import contextlib
import ctypes
import os
import signal
import struct

import pytest

import living

NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
SYS_PTRACE, SYS_READV, SYS_MEMFD_CREATE = 101, 310, 319  # arch/x86/entry/syscalls/syscall_64.tbl
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
needs_mounts = pytest.mark.skipif(not living.can_unshare(), reason="no mounts of our own here (unshare -m fails)")

# Its own file system, of which the root is a folder here, and its own process ids.
CONTAINER = """
set -e
mount --make-rprivate /
mount --bind / "$1"
mount -t tmpfs none "$1/tmp"
cp "$3" "$1/tmp/inside.py"
exec unshare -p -f --kill-child --mount-proc="$1/proc" chroot "$1" "$2" -s /tmp/inside.py 600 1
"""


@contextlib.contextmanager
def contained(interpreter, folder, program):
    """A process of which neither files nor ids are what they are here; its id as seen from here."""
    if interpreter.path.startswith("/tmp/"):
        pytest.skip("the container has a /tmp of its own, without %s" % interpreter.path)
    folder.mkdir()
    command = ["unshare", "-m", "sh", "-c", CONTAINER, "sh", str(folder), interpreter.path, program]
    with living.running(command) as outer:
        inner = outer.pid
        while True:
            with open("/proc/%d/task/%d/children" % (inner, inner)) as file:
                children = file.read().split()
            if not children:
                break
            inner = int(children[0])
        try:
            yield inner
        finally:
            os.kill(inner, signal.SIGKILL)


def drop_right_to_trace():
    """From the bounding set, so that the program starts without CAP_SYS_PTRACE."""
    assert ctypes.CDLL(None).prctl(24, 19, 0, 0, 0) == 0


def forbid(*numbers):
    """A filter by which these system calls fail with EPERM (Documentation/userspace-api)."""
    def install():
        libc = ctypes.CDLL(None, use_errno=True)
        code = [struct.pack("=HBBI", 0x20, 0, 0, 0)]  # The number.
        for number in numbers:
            code += [struct.pack("=HBBI", 0x15, 0, 1, number), struct.pack("=HBBI", 6, 0, 0, 0x50001)]
        code.append(struct.pack("=HBBI", 6, 0, 0, 0x7fff0000))
        text = ctypes.create_string_buffer(b"".join(code))
        program = ctypes.create_string_buffer(struct.pack("=H6xQ", len(code), ctypes.addressof(text)))
        assert libc.prctl(38, 1, 0, 0, 0) == 0
        assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
    return install
