"""What the native cases are made and checked by: a program, its core, and what is said of it."""
import glob
import os
import re
import resource
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    pass


class Skip(Exception):
    pass


class Frame:
    def __init__(self, line):
        pc, sp, cfa, self.trust, self.engine, self.flags, self.place, self.symbol = line.split()
        self.pc, self.sp, self.cfa = int(pc, 16), int(sp, 16), int(cfa, 16)


class Thread:
    def __init__(self, line):
        _, self.tid, self.count, self.end, self.address = line.split()
        self.frames = []

    def symbols(self, prefix):
        """Names of our own functions, innermost first."""
        own = re.compile(r"(?:%s_\w+|main)(?:\.\w+)*$" % prefix)
        return [f.symbol.split(".")[0] for f in self.frames if own.match(f.symbol)]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                          **options)


def expect(condition, what):
    if not condition:
        raise Failure(what)


class Context:
    def __init__(self, dumper, folder):
        self.dumper, self.folder = dumper, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, source, *flags):
        out = self.path(name)
        result = run(["gcc", "-O2", "-w", "-fno-optimize-sibling-calls", "-o", out,
                      "-I" + os.path.join(HERE, "..", "..", "..", "testdata", "native"),
                      os.path.join(HERE, source), *flags, "-ldl", "-pthread"])
        expect(result.returncode == 0, "gcc: " + result.stderr.decode()[-400:])
        return out

    def library(self, name, *flags):
        return self.compile(name, "case_library.c", "-shared", "-fPIC", *flags)

    def program(self, *flags):
        return self.compile("case_program", "case_program.c", *flags)

    def crash(self, *command, environment=None):
        """Runs a program that dies; the path of its core."""
        for old in glob.glob(self.path("core*")):
            os.unlink(old)

        def unlimited():
            resource.setrlimit(resource.RLIMIT_CORE,
                               (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        result = run(command, cwd=self.folder, preexec_fn=unlimited, env=environment)
        expect(result.returncode < 0,
               "%s did not die: %s" % (command[0], result.stderr.decode()[-300:]))
        cores = glob.glob(self.path("core*"))
        if not cores:
            raise Skip("no core file was written; core_pattern is "
                       + open("/proc/sys/kernel/core_pattern").read().strip())
        return cores[0]

    def dump_one(self, engine, core, *options):
        result = run([self.dumper, engine, *options, core])
        text = result.stderr.decode(errors="replace")
        expect(result.returncode == 0,
               "%s: exit %d: %s" % (engine, result.returncode, text[-600:]))
        threads, steps = [], {}
        for line in result.stdout.decode().splitlines():
            if line.startswith("thread "):
                threads.append(Thread(line))
            elif line.startswith("steps "):
                words = line.split()
                steps = dict(zip(words[1::2], map(int, words[2::2])))
            else:
                threads[-1].frames.append(Frame(line))
        return threads, steps

    def dump(self, core):
        """Threads and steps by libunwind; libdw must say the same."""
        threads, steps = self.dump_one("libunwind", core)
        others, _ = self.dump_one("libdw", core)
        for ours, theirs in zip(threads, others):
            a, b = ([(f.pc, f.sp, f.cfa, f.trust) for f in t.frames] for t in (ours, theirs))
            expect(a == b, "engines differ in thread %s: %d and %d frames, first difference %s"
                   % (ours.tid, len(a), len(b), next((i for i, p in enumerate(zip(a, b))
                                                      if p[0] != p[1]), min(len(a), len(b)))))
            expect(ours.end == theirs.end, "engines end differently: %s, %s"
                   % (ours.end, theirs.end))
        expect(len(threads) == len(others), "engines see different threads")
        return threads, steps

    def gdb(self, core, executable):
        if not shutil.which("gdb"):
            raise Skip("gdb is not installed")
        out = run(["gdb", "-batch", "-nx", "-q", "-x", os.path.join(HERE, "gdb_stacks.py"),
                   executable, core]).stdout.decode()
        stacks = {}
        for line in out.splitlines():
            if line.startswith("PCS "):
                words = line.split()
                stacks[words[1]] = [int(w, 16) for w in words[3:]]
        expect(stacks, "gdb gave no stacks")
        return stacks

    def like_gdb(self, core, executable):
        threads, steps = self.dump(core)
        stacks = self.gdb(core, executable)
        expect(len(stacks) == len(threads), "gdb sees %d threads, we %d"
               % (len(stacks), len(threads)))
        for thread in threads:
            ours, theirs = [f.pc for f in thread.frames], stacks.get(thread.tid)
            expect(ours == theirs, "thread %s: gdb has %d frames, we %d"
                   % (thread.tid, len(theirs or []), len(ours)))
            expect(thread.end == "complete", "thread %s ends: %s" % (thread.tid, thread.end))
            check_cfas(thread)
        return threads, steps


def check_cfas(thread):
    for inner, outer in zip(thread.frames, thread.frames[1:]):
        expect(inner.cfa == outer.sp, "cfa %x is not the caller's sp %x" % (inner.cfa, outer.sp))


def check_names(thread, prefix, wanted):
    names = thread.symbols(prefix)
    expect(names == wanted, "own functions %s, wanted %s" % (names, wanted))
    expect(thread.end == "complete", "ends %s" % thread.end)
    check_cfas(thread)


def guesses(thread):
    return [f.trust for f in thread.frames if f.trust in ("scan", "frame-pointer")]
