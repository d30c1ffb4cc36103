"""What machine code tells against what debug information tells, for each call in a module.

Cython writes `#line` for the compiler (--line-directives), so that DWARF has functions and .pyx
lines; the answers come from a stripped copy. A line is compared twice: with what DWARF has, letter
by letter, and with what a traceback of that very call has, where the generated C says that this
is another line of the same statement: see cython_source.py.
"""
import gzip
import json
import os
import re
import shutil
from collections import Counter

from cython_builds import CythonsOwn, Forms, compile_c, compiler_key, keep, keep_c, run
from cython_source import ELSEWHERE, REASONS, Origins, mark_directives

MODULES = {"forms": Forms(registered=False), "FlowControl": CythonsOwn("FlowControl"),
           "Parsing": CythonsOwn("Parsing")}
CALL = re.compile(r"^\s*([0-9a-f]+):\tcall\s+(.*)$")
CLEANUP = re.compile(r"_Py_Dealloc|PyObject_Free|PyMem_Free|PyObject_GC_Del")
NEEDED = ["objdump", "nm", "strip"]
# Percent of the direct answers; of lines, those of tracebacks.
LEAST_FUNCTION, LEAST_LINE = 99.0, 95.0


def find_calls(library):
    """Address of each call's last byte -> what is called, as objdump writes it."""
    calls: dict = {}
    before = None
    for line in run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", library).splitlines():
        address = re.match(r"^\s*([0-9a-f]+):\t", line)
        if address and before:
            calls[int(address[1], 16) - 1] = before
        found = CALL.match(line)
        before = found[2] if found else None
    return calls


def addr2line():
    """LLVM's understands what both compilers write; that of binutils loses clang's inlining."""
    names = ["llvm-addr2line", *(f"llvm-addr2line-{version}" for version in range(25, 10, -1))]
    return next(filter(shutil.which, names), None)


def missing_tools():
    missing = [name for name in NEEDED if not shutil.which(name)]
    return missing if addr2line() else missing + ["llvm-addr2line"]


def read_chains(library, addresses):
    """Address -> [(C function, file, line)], innermost first."""
    text = run(addr2line(), "-a", "-i", "-f", "-e", library,
               input="".join(f"{address:#x}\n" for address in addresses))
    found: dict = {}
    chain, name = None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chain = found.setdefault(int(line, 16), [])
            name = None
        elif name is None:
            name = line
        else:
            file, _, number = re.sub(r" \(discriminator \d+\)$", "", line).rpartition(":")
            chain.append((name, file, int(number) if number.isdigit() else 0))
            name = None
    return found


def keep_truth(folder, source_folder, source, include, compiler):
    """The folder with a stripped library, and its calls as debug information had them."""
    c_file = source_folder / source.c_file

    def make(place):
        debug = place / "truth.so"
        compile_c([*compiler, "-g"], include, mark_directives(c_file), debug)
        run("strip", "-o", place / "stripped.so", debug)
        calls = find_calls(debug)
        chains = read_chains(debug, calls)
        symbols = {line.split()[-1] for line in run("nm", debug).splitlines()}
        symbols |= {level[0] for chain in chains.values() for level in chain}
        truth = [(address, call, chains.get(address, [])) for address, call in calls.items()]
        with gzip.open(place / "truth.json.gz", "wt", encoding="utf-8", compresslevel=1) as file:
            json.dump({"calls": truth, "symbols": sorted(symbols)}, file)
        debug.unlink()
    return keep(folder, (compiler_key(compiler), str(include), (source_folder / "stamp").read_text()),
                make)


def read_names(tool, module, symbols):
    """C function -> (kind, Python's name)."""
    names = {}
    for line in run(tool, "names", module, input="".join(s + "\n" for s in symbols)).splitlines():
        symbol, kind, _, function, flags = line.split("\t")
        names[symbol] = ("boilerplate" if "boilerplate" in flags else kind, function)
    return names


def read_answers(tool, library, module, addresses):
    """Address -> [(function or None, file, line, is an estimate)], innermost first."""
    text = run(tool, "code", library, module, input="".join(f"{address:x}\n" for address in addresses))
    answers: dict = {}
    for row in text.splitlines():
        address, *levels = row.split("\t")
        answers[int(address, 16)] = []
        for level in levels:
            found = re.fullmatch(r"(-?)(.*?) (\(.*\)|\S+):(~?)(\d+)( parallel)?", level)
            if found[1] and found[2]:
                continue  # Cython's own code.
            answers[int(address, 16)].append((found[2], found[3], int(found[5]), bool(found[4])))
    return answers


def is_pyx(file):
    return os.path.splitext(file)[1] in (".pyx", ".pxd", ".pxi", ".py")


def user_level(chain, names):
    """The innermost function of the .pyx: kind, name, file, line and so on; None in utility code."""
    for function, file, *line in chain:
        kind, name = names.get(function, ("none", None))
        if function.startswith("__Pyx_modinit_"):
            continue  # Parts of the module's set-up, which report nothing of their own.
        if kind not in ("none", "plumbing", "boilerplate") and is_pyx(file):
            return kind, name, file, *line
    return None


def is_untold(chain, names):
    """Compilers merge calls of several lines into one that has none; the module's own has none."""
    return any(names.get(function, ("none",))[0] == "module" or
               (not line and names.get(function, ("none",))[0] != "none")
               for function, _, line, *_ in chain)


def same_function(answer, truth, kind):
    if kind == "generator":  # It reports a bare name.
        return answer.rsplit(".", 1)[-1] == truth.rsplit(".", 1)[-1]
    return answer == truth or (kind == "module" and answer == "<module>")


def kind_of(call):
    if call.startswith("*"):
        return "cleanup" if re.fullmatch(r"\*0x30\(%r..?\)", call) else "indirect"
    if CLEANUP.search(call):
        return "cleanup"
    return "Python's C API" if re.search(r"<_?Py\w+@plt>", call) else "own function"


class Comparison:
    def __init__(self):
        self.rows = {}
        self.wrong = []

    def add(self, where, call, chain, names, answer):
        """One call."""
        function, file, line, estimate = answer
        expected = user_level(chain, names)
        if is_untold(chain, names) if expected is None else not (expected[3] and expected[4]):
            return
        if expected is None:
            # Utility code has no line; what is claimed for it all the same is wrong.
            if line and not estimate and function:
                self.count("utility code", call, {"direct"})
                self.wrong.append(f"{where:#x} {call}: {function}:{line} in utility code {chain}")
            return
        kind, name, source, literal, reported, why = expected
        same_file = os.path.basename(file or "") == os.path.basename(source)
        if not line:
            facts = {"none"}
        elif estimate:
            facts = {"estimate"} | ({"near"} if line == reported else set())
        else:
            right = same_function(function, name, kind)
            true = line == reported and same_file
            facts = {"direct", "function" if right else "", "line" if true else "",
                     "literal" if line == literal and same_file else ""}
            if line != literal or not same_file:
                facts.add(why if true else ELSEWHERE if why == ELSEWHERE else "other")
            if not right or not true:
                self.wrong.append(f"{where:#x} {call}: {function} {file}:{line}, "
                                  f"is {name} {os.path.basename(source)}:{reported} {why}")
        self.count(kind_of(call), call, facts | {"calls"})

    def count(self, row, call, facts):
        for name in {row, "all"}:
            self.rows.setdefault(name, Counter()).update(facts)


def compare(tool, module, c_folder, c_file, folder):
    with gzip.open(folder / "truth.json.gz", "rt", encoding="utf-8") as file:
        truth = json.load(file)
    names = read_names(tool, module, truth["symbols"])
    answers = read_answers(tool, folder / "stripped.so", module, [call[0] for call in truth["calls"]])
    origins = Origins(c_file, c_folder)
    comparison = Comparison()
    for address, call, chain in truth["calls"]:
        chain = [(function, *origins.find(file, line)) for function, file, line in chain]
        answer = answers.get(address) or [(None, None, 0, False)]
        comparison.add(address, call, chain, names, answer[0])
    return comparison


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def describe(label, row, count):
    direct = count["direct"]
    why = ", ".join(f"{name} {count[name]}" for name in (*REASONS, "other")
                    if count[name])
    return (f"{label:40} {row:14} {count['calls']:6} calls, {percent(direct, count['calls']):5.1f} % direct: "
            f"function {percent(count['function'], direct):5.1f} %, "
            f"line {percent(count['line'], direct):5.1f} %, by #line {percent(count['literal'], direct):5.1f} %"
            f" ({why or 'all'}); {percent(count['estimate'], count['calls']):4.1f} % estimate "
            f"({percent(count['near'], count['estimate']):5.1f} %), "
            f"{percent(count['none'], count['calls']):4.1f} % none")


def measure(tool, command, source, include, folders, compiler, label, show):
    """Lines of a table; whether it is good enough."""
    c_folder = keep_c(folders[0], command, source, ["--line-directives"])
    folder = keep_truth(folders[1], c_folder, source, include, compiler)
    comparison = compare(tool, source.module, c_folder, c_folder / source.c_file, folder)
    rows = ("Python's C API", "indirect", "own function", "cleanup", "utility code", "all")
    text = [describe(label, row, comparison.rows[row]) for row in rows if row in comparison.rows]
    count = comparison.rows.get("all", Counter())
    good = count["direct"] and percent(count["function"], count["direct"]) >= LEAST_FUNCTION and \
        percent(count["line"], count["direct"]) >= LEAST_LINE
    return text + [f"    {line}" for line in comparison.wrong[:show]], bool(good)
