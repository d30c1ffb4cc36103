"""The first process of the virtual machine of test_handle_vm.py: lets programs die behind pystack-core handle.

All that was kept, all cores as they were passed on, and what commands said (told.json) are written to the disk, as a tar
file. /plan.json names interpreters and what they run.
"""
import ctypes
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tarfile
import time
import traceback

from resting import wait_until

LIBC = ctypes.CDLL(None, use_errno=True)
PROGRAM = "/usr/bin/pystack-core"
PATTERN = "/proc/sys/kernel/core_pattern"
STORE = "/var/lib/pystack-core/crashes"
PASSED = "/passed"
NEW_NAMESPACES, NEW_USERS = 0x00020000 | 0x20000000, 0x10000000  # CLONE_NEWNS | CLONE_NEWPID, CLONE_NEWUSER: sched.h
BIND, MOVE, RECURSIVE, PRIVATE = 4096, 8192, 16384, 1 << 18  # MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE: sys/mount.h
DETACH = 2  # MNT_DETACH
PIVOT_ROOT, FINIT_MODULE = 155, 313  # system calls
SECONDS = 600
PLAN = json.load(open("/plan.json")) if os.path.exists("/plan.json") else {}
BOX_HOME = PLAN.get("box_home", "")
BOX_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PYTHONHOME": BOX_HOME, "LD_LIBRARY_PATH": BOX_HOME + "/lib"}


def checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), "%s: %s" % (what, os.strerror(ctypes.get_errno())))


def mount(what, where, kind=None, flags=0, data=None):
    os.makedirs(where, exist_ok=True)
    checked(LIBC.mount(what.encode(), where.encode(), kind and kind.encode(), ctypes.c_ulong(flags), data and data.encode()),
            "mount " + where)


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def run(*words, **more):
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS, **more)
    return {"code": done.returncode, "out": done.stdout.decode(errors="replace"), "err": done.stderr.decode(errors="replace")}


def ids():
    """Of what the store has; what is not whole is hidden."""
    return {name for name in os.listdir(STORE) if name[0] in "0123456789"}


def wait_for_crashes(before, count):
    """What the store has beyond what it had, as soon as that is so many."""
    wait_until(lambda: len(ids() - before) >= count, "%d crashes" % count, SECONDS, 0.05)
    return [json.loads(read("%s/%s/crash.json" % (STORE, name))) for name in sorted(ids() - before)]


def wait_for_whole(path):
    """The size of a file that another process makes, which puts a file beside it when it is whole."""
    wait_until(lambda: os.path.exists(path + ".whole"), path, SECONDS, 0.05)
    return int(read(path + ".whole"))


# ---- those that die ----

def start(words, user=0, **more):
    def become():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if user:
            os.setgid(user)
            os.setuid(user)
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/", **more.pop("env", {})}
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, preexec_fn=become, env=environment, **more)


def enter_box(root, users):
    """In the child: file systems and process ids of its own; the root is a folder of ours."""
    checked(LIBC.unshare(NEW_NAMESPACES | (NEW_USERS if users else 0)), "unshare")
    if users:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", "0 0 1")
        write("/proc/self/gid_map", "0 0 1")
    checked(LIBC.mount(b"none", b"/", None, ctypes.c_ulong(RECURSIVE | PRIVATE), None), "private")
    mount(root, root, None, BIND | RECURSIVE)
    os.makedirs(root + "/old", exist_ok=True)
    checked(LIBC.syscall(PIVOT_ROOT, root.encode(), (root + "/old").encode()), "pivot_root")
    os.chdir("/")


def run_in_box(root, words, users, first):
    """Dies as the first process of its own ids, or as a child of that; its wait status."""
    outer = os.fork()
    if not outer:
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            enter_box(root, users)
            inner = os.fork()
            if not inner:
                os.makedirs("/proc", exist_ok=True)
                mount("proc", "/proc", "proc")
                checked(LIBC.umount2(b"/old", DETACH), "umount")
                if first:
                    os.execve(words[0], words, BOX_ENVIRONMENT)
                child = subprocess.run(words, env=BOX_ENVIRONMENT, check=False)
                os._exit(0 if child.returncode == -signal.SIGSEGV else 1)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]) & 255)
        except BaseException:
            traceback.print_exc()
            os._exit(98)
    return os.waitstatus_to_exitcode(os.waitpid(outer, 0)[1])


# ---- who dies how ----

def look_at(record):
    """When all of its core has come through, how much that was."""
    return {"record": record, "announced": wait_for_whole("%s/%d" % (PASSED, record["pid"]))}


def die(words, user=0, passes=True, **options):
    """Lets a program die; what was kept of it."""
    before = ids()
    began = time.monotonic()
    code = start(words, user, **options).wait(timeout=SECONDS)
    seconds = time.monotonic() - began
    found = wait_for_crashes(before, 1)
    return {"code": code, "seconds": seconds, "crashes": [look_at(one) if passes else {"record": one} for one in found]}


def in_box(users, first):
    before = ids()
    code = run_in_box("/box", [PLAN["box_python"], "-s", "/program/segfault.py"], users, first)
    if code != (256 - signal.SIGSEGV if first else 0):
        raise OSError("it ended with %d" % code)
    return {"code": code, "crashes": [look_at(one) for one in wait_for_crashes(before, 1)]}


def five_at_once(python):
    """Without KVM five reports at once take longer than a process may be held otherwise."""
    before, usual = ids(), read(PATTERN)
    write(PATTERN, "|%s handle %%P %%u %%g %%s %%t --time-limit 120 --then /keep %%P" % PROGRAM)
    all_of_them = [start([python, "-s", "/program/segfault.py", str(number)]) for number in range(5)]
    codes = [one.wait(timeout=SECONDS) for one in all_of_them]
    write(PATTERN, usual)
    return {"code": codes, "crashes": [look_at(one) for one in wait_for_crashes(before, 5)]}


def with_options(options, words, passes=True):
    """The same with another line in core_pattern."""
    usual = read(PATTERN)
    write(PATTERN, "|%s handle %%P %%u %%g %%s %%t %s" % (PROGRAM, options + " --then /keep %P" * passes))
    try:
        return die(words, passes=passes)
    finally:
        write(PATTERN, usual)


def not_dumpable(python):
    """A program that has changed its user: the kernel dumps it only to a pipe, as root's (proc(5), suid_dumpable)."""
    write("/proc/sys/fs/suid_dumpable", "2")
    return die([python, "-s", "/program/segfault.py", "changes-user"])


def look_around(python):
    """What other commands say while it is installed."""
    def other_user():
        os.setgid(1000)
        os.setuid(1000)
    told = {"doctor": run("doctor"), "doctor-json": run("doctor", "--json")}
    before = ids()
    environment = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    told["ci"] = run("ci", "--", python, "-s", "/program/segfault.py", env=environment, cwd="/tmp")
    told["ci-ids"] = [one["id"] for one in wait_for_crashes(before, 1)]
    told["user-lists"] = run("crashes", preexec_fn=other_user)
    told["user-installs"] = run("handle", "--install", preexec_fn=other_user)
    told["list"] = run("crashes")
    return told


def damaged_store(python):
    """Entries that are none, or damaged, stand beside good ones."""
    good = ids()
    for name, text in (("20200101-000000-1", "no JSON"), ("20200101-000000-2", None), ("20200101-000000-3", '{"time": "x"}')):
        os.mkdir("%s/%s" % (STORE, name), 0o700)
        if text:
            write("%s/%s/crash.json" % (STORE, name), text)
    write(STORE + "/stranger", "x")
    write(STORE + "/20200101-000000-4", "x")
    os.symlink("/etc", STORE + "/20200101-000000-5")
    told = {"list": run("crashes"), "json": run("crashes", "--format", "json"), "good": len(good)}
    told["pruned"] = run("crashes", "prune", "--max-age", "1000")
    told["left"] = sorted(os.listdir(STORE))
    told["etc"] = os.path.exists("/etc/group")
    return told


def work():
    python, other = PLAN["pythons"][0], PLAN["pythons"][-1]
    segfault = "/program/segfault.py"
    told = {"before": read(PATTERN), "limit before": read("/proc/sys/kernel/core_pipe_limit")}

    def step(name, function, *words, **more):
        write("/dev/ttyS0", "%.1f %s\n" % (time.time() - BEGAN, name))
        try:
            told[name] = function(*words, **more)
        except BaseException:
            told[name] = {"raised": traceback.format_exc()}

    step("install", run, "handle", "--install", "--then", "/keep", "%P")
    told["pattern"] = read(PATTERN)
    told["settings"] = read("/etc/sysctl.d/60-pystack-core.conf")
    step("segfault", die, [python, "-s", segfault])
    step("segfault of the other", die, [other, "-s", segfault])
    step("threads", die, [python, "-s", "/program/threads.py", "64"])
    step("as a user", die, [python, "-s", segfault], user=1000, cwd="/tmp")
    step("changed user", not_dumpable, python)
    step("five at once", five_at_once, python)
    step("in a container", in_box, False, False)
    step("first of a container", in_box, False, True)
    step("container with own users", in_box, True, False)
    step("little memory", with_options, "--memory-limit 16", [python, "-s", segfault])
    step("no time", with_options, "--time-limit 1", [python, "-s", "/program/threads.py", "800"])
    step("a gigabyte", with_options, "", [python, "-s", "/program/large.py", str(PLAN["megabytes"])], passes=False)
    step("commands", look_around, python)
    step("damaged store", damaged_store, python)
    step("uninstall", run, "handle", "--uninstall")
    told["after"] = read(PATTERN)
    told["limit after"] = read("/proc/sys/kernel/core_pipe_limit")
    told["settings left"] = os.path.exists("/etc/sysctl.d/60-pystack-core.conf")
    write(PATTERN, "core")
    os.makedirs("/tmp/plain")
    told["plain"] = start([python, "-s", segfault], cwd="/tmp/plain").wait(), os.listdir("/tmp/plain")
    return told


def keep():
    """Behind --then: all of the stream, byte by byte, into a file, and how much it was."""
    path = "%s/%s" % (PASSED, sys.argv[1])
    size = 0
    with open(path, "wb") as file:
        while True:
            some = os.read(0, 1 << 20)
            if not some:
                break
            size += len(some)
            file.write(some)
    write(path + ".part", str(size))
    os.rename(path + ".part", path + ".whole")


def leave_first_root():
    """A process cannot change the root of the kernel's first file system (pivot_root(2)): it is mounted over itself."""
    mount("/", "/root", None, BIND)
    os.chdir("/root")
    checked(LIBC.mount(b"/root", b"/", None, ctypes.c_ulong(MOVE), None), "move")
    checked(LIBC.chroot(b"."), "chroot")
    os.chdir("/")


def load(modules):
    """One that needs another is refused until that is there (ENOENT: kernel/module/main.c, "Unknown symbol")."""
    while modules:
        later = []
        for path in modules:
            with open(path) as file:
                if LIBC.syscall(FINIT_MODULE, file.fileno(), b"", 0) < 0:
                    later.append(path)
        if len(later) == len(modules):
            checked(-1, " ".join(later))
        modules = later


def write_disk(told):
    """What a program of the host reads."""
    text = json.dumps(told).encode()
    head = tarfile.TarInfo("told.json")
    head.size = len(text)
    with open("/dev/vda", "wb") as disk, tarfile.open(fileobj=disk, mode="w|", bufsize=1 << 20) as archive:
        archive.addfile(head, io.BytesIO(text))
        archive.add(STORE, "crashes", filter=lambda one: one if one.isreg() or one.isdir() else None)
        archive.add(PASSED, "passed")
    os.sync()


def main():
    os.environ["PATH"] = "/usr/bin:/bin:/usr/sbin:/sbin"
    leave_first_root()
    for what in ("proc", "sysfs", "devtmpfs", "tmpfs"):
        mount(what, {"proc": "/proc", "sysfs": "/sys", "devtmpfs": "/dev", "tmpfs": "/tmp"}[what], what)
    os.chmod("/tmp", 0o1777)
    mount("tmpfs", PASSED, "tmpfs", data="size=2g")
    load(PLAN["modules"])
    try:
        told = work()
    except BaseException:
        told = {"raised": traceback.format_exc()}
    write_disk(told)
    LIBC.reboot(0x4321FEDC)  # LINUX_REBOOT_CMD_POWER_OFF
    LIBC.reboot(0x01234567)  # LINUX_REBOOT_CMD_RESTART


BEGAN = time.time()
if re.search("keep$", sys.argv[0]):
    keep()
else:
    main()
