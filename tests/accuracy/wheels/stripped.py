"""Copies of installed packages without symbols, whose names are compared with the symbols."""
import functools
import re
import shutil
import subprocess
from pathlib import Path

from wheel_truth import leaf_of, line_is_true


def strip_package(python, package, folder):
    """A copy of what pip installed whose modules have no symbols; where the originals are."""
    ask = ("import importlib.metadata as m, sys; d = m.distribution(%r); "
           "print(d.locate_file('')); print(*sorted({f.parts[0] for f in d.files}), sep='\\n')")
    home, *entries = subprocess.run([python, "-c", ask % package], text=True, capture_output=True,
                                    check=True).stdout.splitlines()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for entry in entries:
        source = Path(home) / entry
        if entry.startswith(".") or not source.exists():
            continue
        if source.is_dir():
            shutil.copytree(source, folder / entry)
        else:
            shutil.copy(source, folder)
    for library in folder.rglob("*.so"):
        subprocess.run(["strip", library], check=True)
    return Path(home)


@functools.lru_cache(None)
def symbols_of(path):
    listed = subprocess.run(["nm", "-S", "--defined-only", path], text=True, capture_output=True,
                            check=False).stdout
    fields = [line.split() for line in listed.splitlines()]
    return [(int(place, 16), int(size, 16), symbol)
            for place, size, kind, symbol in (field for field in fields if len(field) == 4)
            if kind in "tT"]


@functools.lru_cache(None)
def parts_of(program, symbol):
    """The last names that the symbol may mean; none for what is nobody's function."""
    if symbol.startswith(("CPyDef_", "CPyPy_")):
        return [part for part in re.split(r"___(?=[A-Za-z_]|$)", symbol)][1:]
    name = subprocess.run([program, "demangle", symbol], text=True, capture_output=True,
                          check=True).stdout.strip()
    return re.split(r"[./]", re.sub(r" [\[(].*$", "", name)) if name != symbol else []


def compare_stripped(program, frame, originals):
    """Whether the name is that of the original's symbol; None when that has none."""
    address = int(frame["offset"], 16)
    symbol = next((symbol for start, size, symbol in symbols_of(originals[frame["module"]])
                   if start <= address < start + size), None)
    parts = parts_of(program, symbol) if symbol else []
    if not parts or frame["inlined"]:
        return None
    leaf = leaf_of(frame["function"])
    if any(part == leaf or part.endswith("_" + leaf) or part.startswith(leaf + "_")
           for part in parts):
        return True
    # Of a function that the compiler put into that of the symbol.
    return None if frame["line"] and line_is_true(frame) else False
