#!/usr/bin/env python3
"""Stacks that are hard to unwind, made, dumped and checked.

    check_native_cases.py DUMP_NATIVE [--only WORD] [--keep]

Each case compiles a small program with the flags that make it hard, lets it
die, and compares what DUMP_NATIVE says with what the program is known to have
on its stack, and with gdb where gdb is right. Both engines must agree always.
"""
import argparse
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from typing import List

from native_dumps import (HERE, Context, Failure, Skip, check_cfas, check_names, expect, guesses,
                          run)

NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions"]
PROGRAM = ["program_inner", "library_inner", "library_middle", "library_outer",
           "program_outer", "main"]
CASES = []


FEW = os.environ.get("PSC_TEST_THOROUGH") != "1"
SANITIZED = os.environ.get("PSC_SANITIZED") == "ON"


def case(function):
    CASES.append((function.__name__.replace("_", " "), function))
    return function


@case
def ordinary_library(c):
    library, program = c.library("lib.so"), c.program()
    threads, _ = c.like_gdb(c.crash(program, library, "abort"), program)
    check_names(threads[0], r"(?:program|library)", PROGRAM)
    expect(not guesses(threads[0]), "guessed")


@case
def no_unwind_information_with_frame_pointer(c):
    library = c.library("lib.so", *NO_TABLES, "-fno-omit-frame-pointer")
    threads, _ = c.dump(c.crash(c.program(), library, "abort"))
    check_names(threads[0], r"(?:program|library)", PROGRAM)
    expect(len(guesses(threads[0])) == 3, "guesses: %s" % guesses(threads[0]))


@case
def no_unwind_information_without_frame_pointer(c):
    library = c.library("lib.so", *NO_TABLES, "-fomit-frame-pointer")
    threads, _ = c.dump(c.crash(c.program(), library, "abort"))
    names = threads[0].symbols("(?:program|library)")
    expect(names[:2] == PROGRAM[:2] and names[-2:] == PROGRAM[-2:], "own functions %s" % names)
    expect(threads[0].end == "complete", "ends %s" % threads[0].end)
    expect(guesses(threads[0]), "nothing marked as a guess")


@case
def dies_without_unwind_information(c):
    for pointer in ("-fno-omit-frame-pointer", "-fomit-frame-pointer"):
        library = c.library("lib.so", *NO_TABLES, pointer)
        threads, _ = c.dump(c.crash(c.program(), library, "library"))
        names = threads[0].symbols("(?:program|library)")
        expect(names[0] == "library_inner" and names[-2:] == PROGRAM[-2:],
               "own functions %s" % names)
        expect(threads[0].end == "complete", "ends %s" % threads[0].end)
        if pointer == "-fno-omit-frame-pointer":
            check_names(threads[0], r"(?:program|library)", PROGRAM[1:])


@case
def debug_frame_only(c):
    library, program = c.library("lib.so", *NO_TABLES, "-g"), c.program()
    threads, steps = c.like_gdb(c.crash(program, library, "abort"), program)
    check_names(threads[0], r"(?:program|library)", PROGRAM)
    expect(steps["libdw"] == 3, "libdw took %d steps" % steps["libdw"])


@case
def debug_frame_in_separate_file(c):
    library, program = c.library("lib.so", *NO_TABLES, "-g"), c.program()
    for compress in ((), ("--compress-debug-sections=zlib",)):
        for command in (["objcopy", "--only-keep-debug", *compress, library,
                         library + ".debug"],
                        ["objcopy", "--strip-debug", "--remove-section=.gnu_debuglink",
                         "--add-gnu-debuglink=" + library + ".debug", library, library + ".out"]):
            expect(run(command, cwd=c.folder).returncode == 0, "objcopy failed")
        os.replace(library + ".out", library + ".stripped")
        shutil.copy(library, library + ".full")
        os.replace(library + ".stripped", library)
        threads, _ = c.like_gdb(c.crash(program, library, "abort"), program)
        check_names(threads[0], r"(?:program|library)", PROGRAM)
        os.replace(library + ".full", library)


@case
def no_eh_frame_hdr(c):
    library, program = c.library("lib.so", "-Wl,--no-eh-frame-hdr"), c.program()
    threads, steps = c.like_gdb(c.crash(program, library, "abort"), program)
    check_names(threads[0], r"(?:program|library)", PROGRAM)
    expect(steps["libdw"] == 3, "libdw took %d steps" % steps["libdw"])


@case
def static_executables(c):
    for flags in (["-static"], ["-static-pie"], ["-static", "-no-pie"], ["-no-pie"]):
        program = c.compile("case_static", "case_static.c", *flags)
        threads, _ = c.dump(c.crash(program))
        check_names(threads[0], "static", ["static_inner", "static_outer", "main"])
        expect(not guesses(threads[0]), "guessed")


@case
def one_segment_for_all(c):
    program = c.compile("case_static", "case_static.c", "-Wl,-z,noseparate-code")
    threads, _ = c.like_gdb(c.crash(program), program)
    check_names(threads[0], "static", ["static_inner", "static_outer", "main"])


@case
def call_to_nowhere(c):
    library, program = c.library("lib.so"), c.program()
    for way in ("null", "wild", "data"):
        threads, _ = c.like_gdb(c.crash(program, library, way), program)
        check_names(threads[0], r"(?:program|library)", PROGRAM)
        expect(guesses(threads[0]) == ["scan"], "guesses: %s" % guesses(threads[0]))


@case
def anonymous_code(c):
    program = c.compile("case_jit", "case_jit.c")
    for way in ("frame-pointer", "epilogue", "scan"):
        threads, _ = c.dump(c.crash(program, way))
        check_names(threads[0], "jit", ["jit_inner", "jit_outer", "main"])
        expect(len(guesses(threads[0])) == 1, "guesses: %s" % guesses(threads[0]))


@case
def deleted_library(c):
    library, program = c.library("lib.so"), c.program()
    threads, _ = c.dump(c.crash(program, library, "unlink"))
    names = threads[0].symbols("program")
    expect(names == ["program_inner", "program_outer", "main"], "own functions %s" % names)
    expect(threads[0].end == "complete", "ends %s" % threads[0].end)


@case
def missing_library_in_a_debuggers_core(c):
    """Such a core has no segment for the code of a file: nothing says that it is code."""
    if not shutil.which("gdb"):
        raise Skip("gdb is not installed")
    library, program, core = c.library("lib.so"), c.program(), c.path("core.gcore")
    run(["gdb", "-batch", "-nx", "-q", "-ex", "set debuginfod enabled off", "-ex",
         "break abort", "-ex", "run", "-ex", "gcore " + core, "-ex", "kill", "--args", program,
         library, "abort"])
    expect(os.path.exists(core), "gdb wrote no core")
    os.unlink(library)
    threads, _ = c.dump(core)
    names = threads[0].symbols("program")
    expect(names == ["program_inner", "program_outer", "main"], "own functions %s" % names)
    expect(threads[0].end == "complete", "ends %s" % threads[0].end)
    expect(any(f.place.startswith("lib.so") for f in threads[0].frames), "lib.so has no frame")


@case
def replaced_library(c):
    library, program = c.library("lib.so", "-Wl,--build-id"), c.program()
    other = c.library("other.so", "-Wl,--build-id", "-DOTHER_BUILD", "-O1")
    core = c.crash(program, library, "abort")
    os.replace(other, library)
    threads, _ = c.dump(core)
    names = threads[0].symbols("(?:program|library)")
    expect(names == ["program_inner", "program_outer", "main"], "own functions %s" % names)
    other = c.library("other.so", "-Wl,--build-id", "-DOTHER_BUILD", "-O1")
    library = c.library("lib.so", "-Wl,--build-id")
    threads, _ = c.dump(c.crash(program, library, "rename", other))
    names = threads[0].symbols("(?:program|library)")
    expect(names == ["program_inner", "program_outer", "main"], "own functions %s" % names)


@case
def reinstalled_library(c):
    library, program = c.library("lib.so", "-Wl,--build-id"), c.program()
    same = c.library("same.so", "-Wl,--build-id")
    threads, _ = c.dump(c.crash(program, library, "rename", same))
    check_names(threads[0], r"(?:program|library)", PROGRAM)
    expect(not guesses(threads[0]), "guessed")


@case
def stack_overflow(c):
    program = c.compile("case_overflow", "case_overflow.c")
    for way in ([], ["handler"]):
        threads, _ = c.dump(c.crash(program, c.path("depth"), *way))
        with open(c.path("depth"), "rb") as file:
            depth = int.from_bytes(file.read(4), "little")
        names = threads[0].symbols("overflow")
        recursive = [n for n in names if n == "overflow_recurse"]
        # The last call may have died before it counted itself.
        expect(depth > 10000 and len(recursive) - depth in (0, 1),
               "%d frames at depth %d" % (len(recursive), depth))
        expect(names[-1] == "main" and threads[0].end == "complete", "ends %s" % threads[0].end)
        check_cfas(threads[0])


@case
def signal_handlers(c):
    program = c.compile("case_signal", "case_signal.c")
    wanted = ["signal_handler", "signal_leaf", "signal_outer", "main"]
    for way in ("plain", "onstack", "null"):
        threads, _ = c.like_gdb(c.crash(program, way), program)
        check_names(threads[0], "signal", wanted)
        frames = threads[0].frames
        signal = [i for i, f in enumerate(frames) if "signal" in f.flags]
        expect(len(signal) == 1 and "exact" in frames[signal[0] + 1].flags,
               "signal frames %s" % signal)
    threads, _ = c.dump(c.crash(program, "restorer"))
    check_names(threads[0], "signal", wanted[:1] + ["signal_restorer"] + wanted[1:])


@case
def stack_switches(c):
    program = c.compile("case_switch", "case_switch.c")
    for way in ("below", "above"):
        threads, _ = c.dump(c.crash(program, way))
        names = [f.symbol for f in threads[0].frames if "switch" in f.symbol
                 or f.symbol == "main"]
        expect(names == ["switch_inner", "switch_stack", "switch_outer", "switch_again",
                         "switch_stack", "main"], "own functions %s" % names)
        expect(threads[0].end == "complete", "ends %s" % threads[0].end)


@case
def inside_the_vdso(c):
    program = c.compile("case_vdso", "case_vdso.c")
    core = c.crash(program)
    threads, _ = c.like_gdb(core, program)
    check_names(threads[0], "vdso", ["vdso_caller", "main"])
    expect(threads[0].frames[0].place.startswith("[vdso]"),
           "innermost frame is in %s" % threads[0].frames[0].place)


@case
def inside_the_plt(c):
    if not shutil.which("gdb"):
        raise Skip("gdb is not installed")
    program = c.compile("case_plt", "case_plt.c", "-Wl,-z,lazy", "-no-pie", "-fcf-protection=none")
    listing = run(["objdump", "-d", "-j", ".plt", program]).stdout.decode()
    found = re.search(r"^([0-9a-f]+) <rand@plt>:", listing, re.M)
    expect(found, "no PLT entry")
    entry = int(found.group(1), 16)
    for offset, steps in ((0, 0), (0, 1), (0, 2), (0, 3), (0, 4)):
        core = c.path("core.plt%d" % steps)
        run(["gdb", "-batch", "-nx", "-q", "-ex", "set debuginfod enabled off",
             "-ex", "break *0x%x" % entry, "-ex", "run",
             *(["-ex", "stepi %d" % steps] if steps else []), "-ex", "gcore " + core,
             "-ex", "kill", program])
        expect(os.path.exists(core), "gdb wrote no core")
        threads, _ = c.like_gdb(core, program)
        check_names(threads[0], "plt", ["plt_caller", "main"])
        expect(not guesses(threads[0]), "guessed")


@case
def overwritten_return_address(c):
    program = c.compile("case_smash", "case_smash.c", "-fno-omit-frame-pointer",
                        "-fno-stack-protector")
    threads, _ = c.dump(c.crash(program))
    names = threads[0].symbols("smash")
    expect(names[:1] == ["smash_inner"] and names[-2:] == ["smash_outer", "main"],
           "own functions %s" % names)
    expect(guesses(threads[0]), "nothing marked as a guess")


@case
def threads_and_cut_cores(c):
    program = c.compile("case_threads", "case_threads.c")
    core = c.crash(program, "8")
    threads, _ = c.like_gdb(core, program)
    expect(len(threads) == 9, "%d threads" % len(threads))
    whole = {t.tid: [f.pc for f in t.frames] for t in threads}
    size = os.path.getsize(core)
    with open(core, "rb") as file:
        data = file.read()
    for part in (0.95, 0.6, 0.3, 0.1, 0.05):
        cut = c.path("cut")
        with open(cut, "wb") as file:
            file.write(data[:int(size * part)])
        threads, _ = c.dump(cut)
        for thread in threads:
            pcs = [f.pc for f in thread.frames]
            expect(pcs and pcs[0] == whole[thread.tid][0], "first frame is wrong")
            expect(pcs == whole[thread.tid] or thread.end == "unreadable",
                   "cut at %d %%: thread %s has %d frames and ends %s"
                   % (part * 100, thread.tid, len(pcs), thread.end))


@case
def damaged_call_frame_information(c):
    """Nothing in a file may crash us or keep us busy; what comes out does not matter."""
    program = c.program()
    chance = random.Random(1)
    # No build-id: the damaged file is then taken.
    choices: List[List[str]] = [[], ["-Wl,--no-eh-frame-hdr"], [*NO_TABLES, "-g"]]
    for flags in choices:
        library = c.library("lib.so", "-Wl,--build-id=none", *flags)
        section = ".debug_frame" if "-g" in flags else ".eh_frame"
        core = c.crash(program, library, "abort")
        listing = run(["readelf", "-SW", library]).stdout.decode()
        places = []
        for name in (section, ".eh_frame_hdr"):
            found = re.search(r" %s +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)" % re.escape(name),
                              listing)
            if found:
                places.append((int(found.group(1), 16), int(found.group(2), 16)))
        with open(library, "rb") as file:
            whole = file.read()
        for _ in range(20 if FEW and SANITIZED else 60):
            damaged = bytearray(whole)
            offset, size = chance.choice(places)
            for _ in range(chance.choice((1, 2, 5, 20))):
                damaged[offset + chance.randrange(size)] = chance.choice(
                    (0, 0xff, 0x7f, 0x80, 0x0f, 0x10, 0x16, 0x09, 0x14, 0x0a, 0x0b,
                     chance.randrange(256)))
            with open(library, "wb") as file:
                file.write(damaged)
            for engine in ("libunwind", "libdw"):
                try:
                    c.dump_one(engine, core)
                except (Failure, subprocess.TimeoutExpired):
                    shutil.copy(library, os.path.join(tempfile.gettempdir(), "damaged.so"))
                    shutil.copy(core, os.path.join(tempfile.gettempdir(), "damaged.core"))
                    raise


@case
def rows_of_all_code(c):
    program = c.program()
    check_rows(c, c.crash(program, c.library("lib.so"), "abort"), 1000)


def check_rows(c, core, least):
    """Both engines give the same step everywhere, not only where a stack happens to be."""
    out = run([c.dumper, "--rows", core]).stdout.decode()
    rows = re.findall(r"^rows (\S+) both (\d+) libunwind (\d+) libdw (\d+) different (\d+)$",
                      out, re.M)
    expect(sum(int(r[1]) for r in rows) > least, "only %s" % rows)
    different = re.findall(r"^different .*$", out, re.M)
    expect(not different, "%d steps differ, as %s" % (len(different), different[:3]))
    for name, _, libunwind, _, _ in rows:
        expect(libunwind == "0", "%s: %s rows by libunwind alone" % (name, libunwind))


def interpreters():
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    found += [p for p in [shutil.which("python3"), "/usr/bin/python3"] if p]
    real = []
    for path in found:
        path = os.path.realpath(path)
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF" and path not in real:
                real.append(path)
    return real


def check_python(c, python, way):
    script = os.path.join(HERE, "python_threads.py")
    version = run([python, "-c", "import sys, ctypes; print(*sys.version_info[:2])"]).stdout
    if not version.startswith(b"3"):
        raise Skip("%s cannot run the script" % python)
    if way == "gcore":
        process = subprocess.Popen([python, script, "wait"], stdout=subprocess.PIPE)
        try:
            process.stdout.readline()
            core = c.path("core.gcore")
            run(["gdb", "-batch", "-nx", "-q", "-ex", "set debuginfod enabled off", "-p",
                 str(process.pid), "-ex", "gcore " + core])
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    else:
        core = c.crash(python, script, way)
    threads, _ = c.like_gdb(core, python)
    expect(len(threads) == 3, "%d threads" % len(threads))
    if way == "abort":
        check_rows(c, core, 10000)


def no_interpreter(_):
    raise Skip("no CPython in PATH, ~/.pyenv/versions or /usr/bin")


def add_python_cases():
    if not interpreters():
        CASES.append(("python", no_interpreter))
    for python in interpreters():
        # How it ends is the kernel's matter and gdb's, seldom the interpreter's.
        few = FEW and python not in interpreters()[-2:]
        if few and SANITIZED:
            continue
        for way in ("abort",) if few else ("abort", "segv", "gcore"):
            CASES.append(("%s %s" % (python, way),
                          lambda c, p=python, w=way: check_python(c, p, w)))
        CASES.append(("%s perf trampolines" % python,
                      lambda c, p=python: check_perf_trampolines(c, p)))


def check_perf_trampolines(c, python):
    version = run([python, "-c", "import sys; print(sys.version_info >= (3, 12))"]).stdout
    if version.strip() != b"True":
        raise Skip("no perf trampolines before 3.12")
    core = c.crash(python, "-X", "perf", os.path.join(HERE, "python_threads.py"), "abort")
    threads, _ = c.dump(core)
    for thread in threads:
        expect(thread.end == "complete", "thread %s ends %s" % (thread.tid, thread.end))
        check_cfas(thread)
        for inner, outer in zip(thread.frames, thread.frames[1:]):
            expect(inner.place != "?+0" or outer.symbol in ("py_trampoline_evaluator", "-"),
                   "a trampoline was called by %s" % outer.symbol)
    try:
        os.unlink("/tmp/perf-%s.map" % threads[0].tid)
    except OSError:
        pass
    expect(guesses(threads[0]), "no trampoline on the stack")
    expect(threads[0].frames[-1].symbol == "_start", "_start is not reached")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dumper")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true", help="keep the files of failed cases")
    options = parser.parse_args()
    add_python_cases()
    failed = skipped = passed = 0
    for name, function in CASES:
        if options.only not in name:
            continue
        folder = tempfile.mkdtemp(prefix="native-case-")
        keep = False
        try:
            function(Context(os.path.abspath(options.dumper), folder))
            print("ok      " + name)
            passed += 1
        except Skip as skip:
            print("skipped %s: %s" % (name, skip))
            skipped += 1
        except (Failure, subprocess.TimeoutExpired) as failure:
            print("FAILED  %s: %s" % (name, failure))
            keep = options.keep
            failed += 1
        if keep:
            print("        files in " + folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
