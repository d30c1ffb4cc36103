"""Whether a frame without a name could have one: judged by the file alone, with binutils.

A function has a name in its file when a symbol covers it, when it reports errors to Python (its
own report has its name), when a table of methods or slots holds its address, or when the module
exports it by name. What lies outside of all functions that report errors is another object of
the link: a C library, not Cython's code.
"""
import bisect
import functools
import re
import subprocess
from pathlib import Path

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(\w+)\s*(.*)$")
STUB = re.compile(r"^([0-9a-f]+) <(\w+)@plt>:$")
TARGET = re.compile(r"^([0-9a-f]+)\b")
ADDRESS = re.compile(r"#\s*([0-9a-f]+)\b")
SIGNATURE = re.compile(rb"[\w ,*&\[\]<>:.]+\([\w ,*&\[\]<>:.()]*\)\Z")
# Functions in a row without a report that are another object's, and the part that calls Python.
ROW = 50
CALLERS = 0.03
# Slots of a PyType_Spec (CPython's typeslots.h).
SLOTS = range(1, 90)


def run(*command):
    return subprocess.run(command, text=True, capture_output=True, check=False,
                          errors="replace").stdout


class Code:
    """Functions of an extension, and what leads from and to them."""

    def __init__(self, path):
        self.path = path
        self.bytes = Path(path).read_bytes()
        self.functions = self.read_functions()
        self.starts = [start for start, _ in self.functions]
        self.symbols = self.read_symbols()
        self.pointers = self.read_pointers()
        self.segments = self.read_segments()
        self.stubs = {}
        self.calls: dict = {}
        self.takes = {}
        self.read_code()
        self.anchors = {start for start, targets in self.calls.items()
                        if "PyTraceBack_Here" in targets}
        self.reporting = sorted(start for start, targets in self.calls.items()
                                if targets & self.anchors)

    def read_functions(self):
        ranges = re.findall(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)",
                            run("readelf", "--debug-dump=frames", self.path))
        return sorted({(int(start, 16), int(end, 16)) for start, end in ranges})

    def read_symbols(self):
        found = []
        for option in ("--defined-only", "-DS"):
            for line in run("nm", "-S", option, "--defined-only", self.path).splitlines():
                fields = line.split()
                if len(fields) == 4 and fields[2] in "tTwW":
                    found.append((int(fields[0], 16), int(fields[1], 16), fields[3]))
        return found

    def read_pointers(self):
        found = {}
        for line in run("readelf", "-rW", self.path).splitlines():
            fields = line.split()
            if len(fields) >= 4 and fields[2] == "R_X86_64_RELATIVE":
                found[int(fields[0], 16)] = int(fields[3], 16)
        return found

    def read_segments(self):
        found = []
        for line in run("readelf", "-lW", self.path).splitlines():
            fields = line.split()
            if fields[:1] == ["LOAD"]:
                offset, address, size = (int(fields[i], 16) for i in (1, 2, 4))
                found.append((address, size, offset))
        return found

    def bytes_at(self, address, size):
        for start, length, offset in self.segments:
            if start <= address < start + length:
                return self.bytes[offset + address - start:offset + address - start + size]
        return b""

    def string_at(self, address):
        text = self.bytes_at(address, 400)
        return text.split(b"\0")[0] if b"\0" in text else b""

    def function_of(self, address):
        index = bisect.bisect_right(self.starts, address) - 1
        if index >= 0 and address < self.functions[index][1]:
            return self.functions[index]
        return None

    def read_code(self):
        """Calls and jumps out of each function, and the addresses that it takes."""
        for line in run("objdump", "-d", "--no-show-raw-insn", self.path).splitlines():
            stub = STUB.match(line)
            if stub:
                self.stubs[int(stub[1], 16)] = stub[2]
                continue
            found = INSTRUCTION.match(line)
            function = found and self.function_of(int(found[1], 16))
            if not function:
                continue
            target = TARGET.match(found[3])
            taken = ADDRESS.search(found[3])
            if found[2].startswith(("call", "j")) and target:
                address = int(target[1], 16)
                named = re.search(r"<(\w+)@plt>", found[3])
                if not function[0] <= address < function[1]:
                    self.calls.setdefault(function[0], set()).add(named[1] if named else address)
            elif found[2] == "lea" and taken:
                self.takes.setdefault(function[0], []).append(int(taken[1], 16))

    # ---- the names that the file holds ----

    def symbol_of(self, address):
        return next((name for start, size, name in self.symbols
                     if start <= address < start + size), None)

    def table_of(self, start):
        """The method or slot that the function is in a table of."""
        for place, value in self.pointers.items():
            if value != start:
                continue
            name = self.string_at(self.pointers.get(place - 8, 0))
            if re.fullmatch(rb"\w+", name):
                return name.decode()
            number = int.from_bytes(self.bytes_at(place - 8, 8), "little")
            if number in SLOTS and place - 8 not in self.pointers and place + 16 in self.pointers:
                return "slot %d" % number
        return None

    def export_of(self, start):
        """The name by which the module exports the function (__pyx_capi__)."""
        for taken in self.takes.values():
            for at in (i for i, address in enumerate(taken) if address == start):
                near = [self.string_at(address) for address in taken[max(0, at - 2):at + 3]]
                names = [text for text in near if re.fullmatch(rb"[A-Za-z_]\w+", text)]
                if names and any(SIGNATURE.match(text) for text in near):
                    return names[0].decode()
        return None

    def name_of(self, address):
        """Where the file has a name for a nameless frame's function; None: nowhere."""
        symbol = self.symbol_of(address)
        if symbol:
            return "symbol " + symbol
        function = self.function_of(address)
        if not function:
            return None
        if function[0] in self.reporting:
            return "it reports errors"
        table = self.table_of(function[0])
        if table:
            return "table: " + table
        export = self.export_of(function[0])
        return "exported as " + export if export else None

    def calls_python(self, start):
        return any(isinstance(target, str) and target.startswith(("Py", "_Py"))
                   for target in self.calls.get(start, ()))

    def is_other_object(self, address):
        """
        Whether the address is in another object of the link: among many functions in a row, none
        of which reports errors to Python, and hardly one of which calls it.
        """
        at = bisect.bisect_right(self.reporting, address)
        first = bisect.bisect_right(self.starts, self.reporting[at - 1]) if at else 0
        last = (bisect.bisect_left(self.starts, self.reporting[at])
                if at < len(self.reporting) else len(self.starts))
        row = self.starts[first:last]
        return len(row) >= ROW and sum(map(self.calls_python, row)) <= len(row) * CALLERS


@functools.lru_cache(4)
def code_of(path):
    return Code(path)
