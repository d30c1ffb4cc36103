"""What machine code tells against what debug information tells, for each call in a module.

Cython writes `#line` for the compiler (--line-directives), so that DWARF has functions and .pyx
lines; the answers come from a stripped copy. Two kinds of module: testdata/cython/forms, and one
of Cython's own compiler, whatever is of it at hand.
"""
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "testdata" / "cython"
CALL = re.compile(r"^\s*([0-9a-f]+):\tcall\s+(.*)$")
CLEANUP = re.compile(r"_Py_Dealloc|PyObject_Free|PyMem_Free|PyObject_GC_Del")
NEEDED = ["objdump", "nm", "strip"]
# Percent of the direct answers.
LEAST_FUNCTION, LEAST_LINE = 99.0, 95.0


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def forms_source(command, folder):
    """(module, C file) of the module that holds every form."""
    shutil.copy(SOURCES / "forms" / "forms.pyx", folder)
    subprocess.run([*command, "-3", "--line-directives", "forms.pyx"], cwd=folder, check=True,
                   capture_output=True)
    return "forms", folder / "forms.c"


def compiler_source(command, folder):
    """The same of a module that Cython itself is made of."""
    code = "import Cython, os; print(os.path.dirname(Cython.__file__))"
    environment = dict(os.environ)
    if command[-1].endswith("cython.py"):
        environment["PYTHONPATH"] = str(Path(command[-1]).parent)
    package = run("/usr/bin/python3" if len(command) == 1 else command[0], "-c", code,
                  env=environment).strip()
    shutil.copytree(package, folder / "Cython", ignore=shutil.ignore_patterns("*.so", "*.c", "Tests"))
    subprocess.run([*command, "-3", "--line-directives", "Cython/Compiler/FlowControl.py"],
                   cwd=folder, check=True, capture_output=True)
    return "Cython.Compiler.FlowControl", folder / "Cython" / "Compiler" / "FlowControl.c"


forms_source.module = "forms"
compiler_source.module = "Cython's own"


def find_calls(library):
    """Address of each call's last byte -> what is called, as objdump writes it."""
    calls = {}
    before = None
    for line in run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", str(library)).splitlines():
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


def read_truth(library, addresses):
    """Address -> [(C function, file, line)], innermost first."""
    text = run(addr2line(), "-a", "-i", "-f", "-e", str(library),
               input="".join(f"{address:#x}\n" for address in addresses))
    found, chain, name = {}, None, None
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


def read_names(tool, module, symbols):
    """C function -> (kind, Python's name)."""
    names = {}
    for line in run(tool, "names", module, input="".join(s + "\n" for s in symbols)).splitlines():
        symbol, kind, _, function, flags = line.split("\t")
        names[symbol] = ("boilerplate" if "boilerplate" in flags else kind, function)
    return names


def read_answers(tool, library, module, addresses):
    """Address -> [(function or None, file, line, is an estimate)], innermost first."""
    text = run(tool, "code", str(library), module, input="".join(f"{address:x}\n" for address in addresses))
    answers = {}
    for row in text.splitlines():
        address, *levels = row.split("\t")
        answers[int(address, 16)] = []
        for level in levels:
            found = re.fullmatch(r"(-?)(.*) (.*):(~?)(\d+)( parallel)?", level)
            if found[1] and found[2]:
                continue  # Cython's own code.
            answers[int(address, 16)].append((found[2], found[3], int(found[5]), bool(found[4])))
    return answers


def is_pyx(file):
    return os.path.splitext(file)[1] in (".pyx", ".pxd", ".pxi", ".py")


def user_level(chain, names):
    """Name, line and kind of the innermost function of the .pyx; None in utility code."""
    for function, file, line in chain:
        kind, name = names.get(function, ("none", None))
        if kind not in ("none", "plumbing", "boilerplate") and is_pyx(file):
            return name, line, kind
    return None


def is_untold(chain, names):
    """Compilers merge calls of several lines into one that has none; the module's own has none."""
    return any(names.get(function, ("none",))[0] == "module" or
               (not line and names.get(function, ("none",))[0] != "none")
               for function, _, line in chain)


def same_function(answer, truth, kind):
    if kind == "generator":  # It reports a bare name.
        return answer.rsplit(".", 1)[-1] == truth.rsplit(".", 1)[-1]
    return answer == truth or (kind == "module" and answer == "<module>")


def reported_lines(c_file):
    """(line of #line, line that Cython reports for a failure there), where these differ.

    A decorated function, a statement or an argument list on several lines: tracebacks and #line
    name different ones of them.
    """
    pairs, line = set(), 0
    for text in c_file.read_text(encoding="utf-8", errors="replace").splitlines():
        directive = re.match(r"\s*#line (\d+) ", text)
        line = int(directive[1]) if directive else line
        for number in re.findall(r"__PYX_(?:MARK_)?ERR(?:_POS)?\(\d+, (\d+)", text):
            pairs.add((line, int(number)))
    return pairs


def kind_of(call):
    if call.startswith("*"):
        return "cleanup" if re.fullmatch(r"\*0x30\(%r..?\)", call) else "indirect"
    if CLEANUP.search(call):
        return "cleanup"
    return "Python's C API" if re.search(r"<_?Py\w+@plt>", call) else "own function"


def compare(tool, module, c_file, debug, stripped):
    """Per kind of call and over all: how many, direct, right in function, right in line, ..."""
    calls = find_calls(debug)
    truth = read_truth(debug, calls)
    symbols = {line.split()[-1] for line in run("nm", str(debug)).splitlines()}
    symbols |= {level[0] for chain in truth.values() for level in chain}
    names = read_names(tool, module, sorted(symbols))
    answers = read_answers(tool, stripped, module, calls)
    pairs = reported_lines(c_file)
    table, wrong = {}, []
    for address, call in calls.items():
        chain = truth.get(address, [])
        expected = user_level(chain, names)
        levels = answers.get(address) or [(None, None, 0, False)]
        function, _, line, estimate = levels[0]
        if is_untold(chain, names) if expected is None else not expected[1]:
            continue
        if expected is None:
            # Utility code has no line; what is claimed for it all the same is wrong.
            if line and not estimate and function:
                table.setdefault("utility", Counter())["claimed"] += 1
                wrong.append(f"{address:#x} {call}: {function}:{line} in utility code {chain}")
            continue
        for row in (kind_of(call), "all"):
            count = table.setdefault(row, Counter())
            count["calls"] += 1
            if not line:
                count["none"] += 1
                continue
            exact = line == expected[1]
            if estimate:
                count["estimate"] += 1
                count["estimate exact"] += exact
                continue
            right = same_function(function, *expected[::2])
            count["direct"] += 1
            count["function"] += right
            count["line"] += exact
            said = exact or (expected[1], line) in pairs
            count["reported"] += said
            if row == "all" and not (right and said):
                wrong.append(f"{address:#x} {call}: {function}:{line}, is {expected[0]}:{expected[1]}")
    return table, wrong


def build(include, folder, c_file, compiler):
    """The library with debug information, and its stripped copy."""
    debug, stripped = folder / "truth.so", folder / "stripped.so"
    subprocess.run([*compiler, "-g", "-w", "-shared", "-fPIC", f"-I{include}", "-o", str(debug),
                    c_file.relative_to(folder)], cwd=folder, check=True, capture_output=True)
    subprocess.run(["strip", "-o", str(stripped), str(debug)], check=True)
    return debug, stripped


def percent(part, whole):
    return 100 * part / whole if whole else 100.0


def measure(tool, command, make_source, include, folder, compiler, label, show):
    """Prints a table; whether it is good enough."""
    folder.mkdir(parents=True, exist_ok=True)
    module, c_file = make_source(command, folder)
    debug, stripped = build(include, folder, c_file, compiler)
    table, wrong = compare(tool, module, c_file, debug, stripped)
    good = True
    for row in ("Python's C API", "indirect", "own function", "cleanup", "all"):
        count = table.get(row)
        if not count:
            continue
        function, line, reported = (percent(count[key], count["direct"])
                                    for key in ("function", "line", "reported"))
        print(f"{label:42} {row:15} {count['calls']:6} calls, "
              f"{percent(count['direct'], count['calls']):5.1f} % direct "
              f"(function {function:5.1f} %, line {line:5.1f} %, "
              f"or as tracebacks have it {reported:5.1f} %), "
              f"{percent(count['estimate'], count['calls']):4.1f} % estimate "
              f"({percent(count['estimate exact'], count['estimate']):5.1f} %), "
              f"{percent(count['none'], count['calls']):4.1f} % none")
        if row == "all":
            good = function >= LEAST_FUNCTION and reported >= LEAST_LINE and count["direct"] > 0
    claimed = table.get("utility", Counter())["claimed"]
    if claimed:
        print(f"{label:42} {'utility code':15} {claimed:6} calls with a line of the .pyx")
    for line in wrong[:show]:
        print(f"    {line}")
    return good
