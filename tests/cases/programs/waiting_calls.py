"""Threads that wait in system calls, one for each kind: its name says for what.

Usage: waiting_calls.py FILE [die]

Writes {name: {"tid", "kind", "says", "pid"}} to FILE, as JSON, once all are where they are going to
stay: `says` are parts of what the report says of each, `pid` is who has the other end.
"""
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TIDS = {}
begun = threading.Semaphore(0)
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
ours, theirs = os.pipe()
os.set_inheritable(theirs, True)
writer = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False)
os.close(theirs)
full_out, full_in = os.pipe()
os.set_blocking(full_in, False)
try:
    while True:
        os.write(full_in, bytes(65536))
except BlockingIOError:
    os.set_blocking(full_in, True)
left, right = socket.socketpair()
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(1)
port = listener.getsockname()[1]
caller = socket.create_connection(("127.0.0.1", port))
answerer, _ = listener.accept()
locked = tempfile.NamedTemporaryFile()
holder = open(locked.name)
fcntl.flock(holder, fcntl.LOCK_EX)
waiter = open(locked.name)
poller = select.epoll()
poller.register(left.fileno(), select.EPOLLIN)
me = os.getpid()
terminal = os.openpty()
libc = ctypes.CDLL(None)
timer = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
libc.timerfd_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 600, 0), None)  # struct itimerspec
counter = libc.eventfd(0, 0)
mounts = open("/proc/self/mounts")
folder = tempfile.TemporaryDirectory()
fifo, other_fifo = (os.path.join(folder.name, name) for name in ("fifo", "other"))
os.mkfifo(fifo)
os.mkfifo(other_fifo)
place = os.open(folder.name, os.O_RDONLY)
# Who opens a file of which another has a lease sleeps until that one has given it back (fcntl(2)).
signal.signal(signal.SIGIO, signal.SIG_IGN)
leased = tempfile.NamedTemporaryFile()
fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
# It cannot see that nobody is there any more: PR_SET_PDEATHSIG ends it with us (prctl(2)).
stopped = subprocess.Popen([sys.executable, "-c", "import ctypes, os; ctypes.CDLL(None).prctl(1, 9); os.kill(os.getpid(), 19)"])
os.waitpid(stopped.pid, os.WUNTRACED)

WAITS = {
    "child": ("child", ["the end of process %d" % child.pid], child.pid, lambda: os.waitpid(child.pid, 0)),
    "stopped": ("child", ["the end of process %d" % stopped.pid, "which a signal has stopped"], stopped.pid,
                lambda: os.waitpid(stopped.pid, 0)),
    "fifo": ("pipe", [fifo, "somebody to open the FIFO", "for writing"], None, lambda: os.open(fifo, os.O_RDONLY)),
    "fifo_write": ("pipe", ["other", "somebody to open the FIFO", "for reading"], None,
                   lambda: os.open("other", os.O_WRONLY, dir_fd=place)),
    "lease": ("system-call", ["the file %s to be opened" % leased.name], None, lambda: os.open(leased.name, os.O_RDONLY)),
    "pipe": ("pipe", ["data from descriptor %d" % ours], writer.pid, lambda: os.read(ours, 1)),
    "pipe_write": ("pipe", ["room to write to descriptor %d" % full_in], me, lambda: os.write(full_in, b"x")),
    "pipe_child": ("pipe", ["data from descriptor %d" % child.stdout.fileno()], child.pid, child.stdout.read),
    "unix": ("socket", ["data from descriptor %d" % right.fileno(), "Unix"], me, lambda: right.recv(1)),
    "accept": ("socket", ["a connection on descriptor %d" % listener.fileno(), "127.0.0.1:%d" % port], None,
               listener.accept),
    "tcp": ("socket", ["data from descriptor %d" % caller.fileno(), "to 127.0.0.1:%d" % port], me,
            lambda: caller.recv(1)),
    "select": ("poll", ["descriptor %d" % ours, "descriptor %d" % left.fileno()], None,
               lambda: select.select([ours, left], [], [], 5000)),
    "poll": ("poll", ["descriptor %d" % ours, "descriptor %d" % left.fileno()], None, lambda: poll(ours, left.fileno())),
    "epoll": ("poll", ["epoll descriptor %d" % poller.fileno(), "descriptor %d" % left.fileno()], me,
              lambda: poller.poll(5000)),
    "sleep": ("sleep", ["some time to pass"], None, lambda: time.sleep(600)),
    "flock": ("file-lock", ["the lock on descriptor %d" % waiter.fileno(), locked.name], me,
              lambda: fcntl.flock(waiter, fcntl.LOCK_EX)),
    "terminal": ("terminal", ["data from descriptor %d" % terminal[1], os.ttyname(terminal[1])], None,
                 lambda: os.read(terminal[1], 1)),
    "timer": ("timer", ["data from descriptor %d" % timer], None, lambda: os.read(timer, 8)),
    "event": ("system-call", ["data from descriptor %d" % counter, "eventfd"], None, lambda: os.read(counter, 8)),
    "file": ("file", ["descriptor %d" % mounts.fileno(), "/mounts"], None, lambda: poll(mounts.fileno(), events=select.POLLPRI)),
    "signal": ("signal", ["a signal"], None, lambda: signal.sigwait([signal.SIGUSR1])),
}


def poll(*descriptors, events=select.POLLIN):
    one = select.poll()
    for descriptor in descriptors:
        one.register(descriptor, events)
    one.poll()


def begin(name, run):
    with open("/proc/thread-self/stat") as file:
        TIDS[name] = int(file.read().split()[0])
    begun.release()
    run()


def is_asleep(tid):
    with open("/proc/self/task/%d/stat" % tid) as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "S"


def main():
    for name, (_, _, _, run) in WAITS.items():
        threading.Thread(target=begin, args=(name, run), name=name, daemon=True).start()
    for _ in WAITS:
        begun.acquire()
    quiet = 0
    while quiet < 20:
        quiet = quiet + 1 if all(is_asleep(tid) for tid in TIDS.values()) else 0
        select.select([], [], [], 0.005)
    told = {name: {"tid": TIDS[name], "kind": kind, "says": says, "pid": pid}
            for name, (kind, says, pid, _) in WAITS.items()}
    with open(sys.argv[1], "w") as file:
        json.dump(told, file)
    print("ready", flush=True)
    if len(sys.argv) > 2:
        os.abort()
    threading.Event().wait()


main()
