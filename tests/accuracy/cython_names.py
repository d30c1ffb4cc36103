#!/usr/bin/env python3
"""Compares names and lines with what Cython itself writes down (cython --gdb).

Compiles testdata/cython/names with each Cython that can be had, at -O0 and -O2, and
compares for every function symbol of the module: the name shown, with the module at hand and by
`nm MODULE.so | pystack-core demangle`, with the qualified_name in cython_debug/*, and for every
C line with code: the .pyx line with its LineNumberMapping.

Cython versions come from PyPI; when it can not be reached, only the installed ones are used,
and that is said. Exit code: 0 all equal, 1 differences, 77 no Cython at all.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "testdata" / "cython" / "names"
WANTED = ["0.29.37", "3.0.12", "3.1.*", "3.2.*", "3.3.*"]
MODULES = [
    ("pkg.sub._kern", "pkg/sub/_kern.pyx", False),
    ("pkg.Solver", "pkg/Solver.pyx", False),
    ("pkg.cppmod", "pkg/cppmod.pyx", True),
    ("pkg.unimod", "pkg/unimod.pyx", False),
]
OPTIMISATIONS = ["-O0", "-O2"]
FUNCTION = re.compile(r"__pyx_(U|pw_|pf_|f_|gb_|lambda_funcdef_|fuse_|(array|memoryview)_)")
SLOT_HEAD = re.compile(
    r"static .*\b__pyx_U?(getprop|setprop|(tp|sq|mp|nb|am|bf)_[a-z]+\w*)_\w+\(.*\{$")


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def installed_cythons():
    """(label, command) of what the system has."""
    for name in ("cython3", "cython"):
        path = shutil.which(name)
        if path:
            text = subprocess.run([path, "--version"], text=True, capture_output=True, check=False)
            version = (text.stdout + text.stderr).split()[-1]
            yield f"{name} {version}", [path]


def pypi_cythons(folder, wanted):
    for version in wanted:
        target = folder / f"cython-{version.strip('.*')}"
        if not target.exists():
            install = subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", "--retries", "0",
                 "--timeout", "10", "--target", str(target), f"cython=={version}"],
                text=True, capture_output=True, check=False)
            if install.returncode:
                shutil.rmtree(target, ignore_errors=True)
                last = (install.stderr.strip().splitlines() or ["pip failed"])[-1]
                print(f"SKIP Cython {version}: {last}")
                continue
        yield f"PyPI {version}", [sys.executable, str(target / "cython.py")]


def include_folder():
    """Headers of an interpreter that all these Cython versions support."""
    candidates = sorted(Path.home().glob(".pyenv/versions/3.11.*/include/python3.11"))
    candidates += sorted(Path.home().glob(".pyenv/versions/3.*/include/python3.*"))
    candidates.append(Path(sysconfig.get_paths()["include"]))
    for path in candidates:
        if (path / "Python.h").exists():
            return path
    return None


def version_of(command):
    text = subprocess.run(command + ["--version"], text=True, capture_output=True, check=False)
    digits = re.search(r"(\d+)\.(\d+)", text.stdout + text.stderr)
    return (int(digits[1]), int(digits[2])) if digits else (0, 0)


class Source:
    """What the generated C and the .pyx tell about names that only look like Cython's own."""

    def __init__(self, c_text, text):
        self.functions = set(re.findall(r"__pyx_p[fw]_\w+", c_text))
        self.written = set(re.findall(r"^\s*(?:(?:async )?def|class|cdef class) (\w+)", text, re.M))

    def sibling(self, cname, own, other, step):
        """Whether the same function has its other half."""
        return sibling_of(cname, own, other, step, self.functions) is not None

    def is_lambda(self, cname, leaf):
        if "__pyx_lambda_funcdef_" in cname:
            return True
        if "__pyx_gb_" in cname:
            return not self.sibling(re.sub(r"generator\d*$", leaf, cname), "__pyx_gb_", "__pyx_pf_", -2)
        return "__pyx_pw_" in cname and not self.sibling(cname, "__pyx_pw_", "__pyx_pf_", -1)

    def is_genexpr(self, cname):
        if "__pyx_pw_" in cname:  # 0.29 lists wrappers only, also those that it left out.
            return cname not in self.functions
        return "__pyx_gb_" in cname or not self.sibling(cname, "__pyx_pf_", "__pyx_pw_", 1)


def sibling_of(cname, own, other, step, among):
    """The other half of a function; numbers differ by one."""
    if own not in cname:
        return None
    head, tail = cname.split(own, 1)
    for found in re.finditer(r"(?<=_)\d*(?=[^\d])", tail):
        number = int(found[0] or 0) + step
        if number < 0:
            continue
        text = str(number) if number else ""
        for prefix in (head, ""):
            sibling = prefix + other + tail[:found.start()] + text + tail[found.end():]
            if sibling in among:
                return sibling
    return None


def expected_name(qualified, name, cname, source):
    """Python's name for Cython's internal one."""
    qualified = re.sub(r"\[[^\]]*\]", "", qualified)
    if qualified.endswith(".__pyx_fused_cpdef"):
        plain = re.sub(r"\[.*|^__pyx_fuse_[\d_]*\d", "", name)
        qualified = qualified.rsplit(".", 1)[0] + "." + plain
    parts = qualified.split(".")
    parts[-1] = re.sub(r"^__pyx_fuse_\d+(_\d+)*", "", parts[-1])
    if re.fullmatch(r"(__pyx_lambda_funcdef_)?lambda\d*", parts[-1]) and \
            source.is_lambda(cname, parts[-1]):
        parts[-1] = "<lambda>"
    if len(parts) > 1:  # 3.0 shows private names mangled.
        parts[-1] = re.sub(rf"^_{re.escape(parts[-2].lstrip('_'))}(?=__)", "", parts[-1])
    if parts[-1] == "genexpr" and source.is_genexpr(cname):
        parts[-1] = "<genexpr>"
    parts = [part if part in source.written else re.sub(r"^(lambda|genexpr)\d*$", r"<\1>", part)
             for part in parts[:-1] if part in source.written or not re.fullmatch(r"genexpr\d+", part)
             ] + parts[-1:]
    return ".".join(parts)


def bare_name(symbol):
    """The C name in a linker's symbol."""
    mangled = re.match(r"_ZL?(\d+)", symbol)
    if mangled:
        return symbol[mangled.end():mangled.end() + int(mangled[1])]
    return symbol.split(".")[0]


class Result:
    def __init__(self):
        self.names = self.shown = self.lines = self.slots = 0
        self.wrong = []
        self.unlisted = []


def private_alias(cname, qualified):
    """0.29 lists `_1__x` where 3.x has `_1_Cls__x`."""
    parts = qualified.split(".")
    if len(parts) > 1 and parts[-1].startswith("__") and not parts[-1].endswith("__"):
        if cname.endswith(parts[-1]):
            return cname[:-len(parts[-1])] + "_" + parts[-2].lstrip("_") + parts[-1]
    return cname


def expected_names(debug, source):
    """{C name: module, Python's name}"""
    expected = {}
    for function in debug.iter("Function"):
        cname, other = function.get("cname"), function.get("pf_cname")
        name = expected_name(function.get("qualified_name"), function.get("name"), cname, source)
        for one in (cname, private_alias(cname, name), other):
            if one:
                expected[one] = name
    return expected


def without_module(name, module):
    """As `demangle` shows it."""
    utility = re.match(r"(View\.MemoryView|EnumBase|FromPyStructUtility|[a-z]+\.(to|from)_py)\.", name)
    if utility:
        return name[utility.end():]
    module = module.removesuffix(".__init__") + "."
    return name[len(module):].removeprefix("__init__.") if name.startswith(module) else name


def check_names(tool, program, module, library, debug, source, result):
    symbols = [line.split()[-1] for line in run("nm", str(library)).splitlines()
               if len(line.split()) == 3 and line.split()[1] in "tT"]
    answers = {}
    answer = run(tool, "names", module, input="\n".join(symbols) + "\n")
    for line in answer.splitlines():
        symbol, kind, found_module, function, _ = line.split("\t")
        answers[symbol] = (kind, found_module, function)
    expected = expected_names(debug, source)
    table = library.with_suffix(".nm")
    table.write_text(run("nm", str(library)), encoding="utf-8")
    with table.open(encoding="utf-8") as lines:
        shown = dict(zip((line.split()[-1] for line in table.read_text().splitlines()),
                         run(program, "demangle", stdin=lines).splitlines()))
    for symbol in symbols:
        cname = bare_name(symbol)
        kind, found_module, found = answers[symbol]
        got = f"{found_module}.{found}"
        if cname not in expected:
            # 0.29 lists wrappers, 3.x bodies; the other one is listed as its sibling.
            want = sibling_name(cname, expected)
            if want is None:
                if FUNCTION.match(cname):
                    result.unlisted.append(f"{symbol}: {kind} {got}")
                continue
        else:
            want = expected[cname]
        if not cname.startswith("__pyx_") or kind == "module":
            continue
        if cname.startswith("__pyx_ff_") and kind == "plumbing":
            continue  # The dispatch of fused functions: utility code, hidden.
        if kind == "plumbing" and without_module(want, module) != want:
            continue  # Conversions of C++ containers and the like: utility code, hidden.
        result.names += 1
        if got != want:
            result.wrong.append(f"{symbol}: {got}, Cython says {want}")
        result.shown += 1
        text = shown[symbol].split(maxsplit=2)[2].removesuffix(" [parallel]")
        if text != without_module(want, found_module):
            result.wrong.append(f"demangle: {symbol}: {text}, Cython says {want}")


def sibling_name(cname, expected):
    """A body's name by its wrapper's, and the other way round."""
    for own, other, step in (("__pyx_pw_", "__pyx_pf_", -1), ("__pyx_pf_", "__pyx_pw_", 1)):
        sibling = sibling_of(cname, own, other, step, expected)
        if sibling:
            return expected[sibling]
    return None


def slot_lines(text):
    """C lines from a type slot's head to the next block.

    Cython's list has the last function's line there, since slots have no blocks of their own.
    """
    inside = False
    lines = set()
    for number, line in enumerate(text, 1):
        if SLOT_HEAD.match(line):
            inside = True
        elif line in ("*/", " */"):
            inside = False
        if inside:
            lines.add(number)
    return lines


def check_lines(tool, c_file, debug, result):
    expected: dict = {}
    for entry in debug.iter("LineNumber"):
        line = int(entry.get("src_lineno") or entry.get("cython_lineno"))
        for c_line in (entry.get("c_linenos") or entry.get("c_lineno")).split():
            expected.setdefault(int(c_line), set()).add((entry.get("src_path"), line))
    found = {}
    for row in run(tool, "lines", str(c_file)).splitlines():
        c_line, name, line = row.split("\t")
        found[int(c_line)] = (name, int(line))
    text = c_file.read_text(encoding="utf-8", errors="replace").split("\n")
    slots = slot_lines(text)
    for c_line, want in sorted(expected.items()):
        code = text[c_line - 1].strip()
        if not code or code.startswith(("/*", "*", "#line")):
            continue
        if c_line in slots:
            result.slots += 1
            if c_line in found:
                result.wrong.append(f"{c_file.name}:{c_line}: a type slot's, not {found[c_line]}")
            continue
        result.lines += 1
        name, line = found.get(c_line, (None, None))
        if not any(line == number and (path is None or path.endswith(name) or name == "stringsource"
                                       or name.startswith(("<", "(")))
                   for path, number in want):
            result.wrong.append(f"{c_file.name}:{c_line}: {name}:{line}, "
                                f"Cython says {sorted(want, key=str)}")


def check_cython(tool, program, command, folder, include):
    shutil.copytree(SOURCES / "pkg", folder / "pkg")
    old = version_of(command) < (3, 0)
    result = Result()
    for module, source, is_cpp in MODULES:
        if old and module == "pkg.unimod":
            continue  # 0.29 knows no such identifiers.
        run(*command, "-3", "--gdb", *(["--cplus"] if is_cpp else []), source, cwd=folder)
        c_file = folder / (source[:-len(".pyx")] + (".cpp" if is_cpp else ".c"))
        debug = ET.parse(folder / "cython_debug" / f"cython_debug_info_{module}").getroot()
        check_lines(tool, c_file, debug, result)
        texts = Source(c_file.read_text(encoding="utf-8", errors="replace"),
                       (folder / source).read_text(encoding="utf-8"))
        for level in OPTIMISATIONS:
            library = c_file.with_suffix(f".{level.strip('-')}.so")
            run("g++" if is_cpp else "gcc", "-w", level, "-fopenmp", "-shared", "-fPIC",
                f"-I{include}", "-o", str(library), str(c_file))
            check_names(tool, program, module, library, debug, texts, result)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="the program made from tests/accuracy/cython_tool.c")
    parser.add_argument("--program", required=True, help="pystack-core")
    parser.add_argument("--cache", type=Path, help="keeps the installed Cython versions")
    parser.add_argument("--offline", action="store_true", help="only what is installed")
    parser.add_argument("--unlisted", action="store_true",
                        help="show the functions that Cython's list has not")
    parser.add_argument("--show", type=int, default=20, help="differences to print per version")
    options = parser.parse_args()
    include = include_folder()
    missing = [name for name in ("gcc", "g++", "nm") if not shutil.which(name)]
    if not include or missing:
        print("SKIP: no", ", ".join(missing) or "Python.h")
        return 77
    failed = checked = 0
    with tempfile.TemporaryDirectory() as scratch:
        cache = options.cache or Path(scratch) / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        cythons = list(installed_cythons())
        if not cythons:
            print("SKIP installed Cython: no cython3 in PATH")
        if options.offline:
            print("SKIP Cython from PyPI: --offline")
        else:
            cythons += pypi_cythons(cache, WANTED)
        for index, (label, command) in enumerate(cythons):
            folder = Path(scratch) / str(index)
            folder.mkdir()
            result = check_cython(os.path.abspath(options.tool),
                                  os.path.abspath(options.program), command, folder, include)
            print(f"{label}: {result.names} names, {result.shown} by demangle, {result.lines} code lines compared, "
                  f"{result.slots} lines of slots have none, {len(result.wrong)} differ, "
                  f"{len(result.unlisted)} symbols without an entry")
            for line in result.wrong[:options.show]:
                print(f"  {line}")
            if options.unlisted:
                for line in result.unlisted:
                    print(f"  without an entry: {line}")
            failed += len(result.wrong)
            checked += 1
    if not checked:
        print("SKIP: no Cython at all")
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
