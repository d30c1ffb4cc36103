"""Which line of the .pyx a line of generated C stands for, from the two texts alone.

`#line N "file"` gives N to the next line of C only; where Cython writes two under one, the compiler
counts on, and debug information has N + 1. And where a statement stands on several lines (a
function and its decorators, arguments of a call), #line has one of them, a traceback another: the
one that stands on the same line of C, in __PYX_ERR(file, line, label). So directives are marked
with the number of their own line, which debug information then gives back with the file name.
"""
import os
import re
import tempfile

DIRECTIVE = re.compile(r'^(\s*#line (\d+) "([^"]*))"$')
MARKED = re.compile(r"^(.*)@(\d+)$")
ASSIGNED = re.compile(r"^\s*(?:\{[^;]*;\s*)?(__pyx_\w+) = ")
REPORT = re.compile(r"__PYX_(?:MARK_)?ERR(?:_POS)?\(\s*(\d+),\s*(\d+)")
# Lines of C that may stand between a call and its check.
FOLLOWING = 64
QUOTES = re.compile(r"'''|\"\"\"|'|\"")
HEADER = re.compile(r"\s*(@|(async\s+)?def\b|class\b|cp?def\b)")

# Why debug information has another line than a traceback of the same call.
REASONS = COUNTED_ON, HEADER_LINES, STATEMENT_LINES, OUTSIDE, ELSEWHERE = \
    "counted on", "header", "statement", "outside", "elsewhere"


def mark_directives(c_file):
    """A copy whose directives name "file@their own line". Others may be compiling it this moment."""
    marked = c_file.with_name("marked_" + c_file.name)
    with open(c_file, encoding="utf-8", errors="surrogateescape") as source, \
            tempfile.NamedTemporaryFile("w", encoding="utf-8", errors="surrogateescape",
                                        dir=c_file.parent, delete=False) as copy:
        for number, text in enumerate(source, 1):
            copy.write(DIRECTIVE.sub(rf'\1@{number}"', text.rstrip("\n")) + "\n")
    os.replace(copy.name, marked)
    return marked


def statement_starts(text):
    """For each line, 1-based, the first line of its statement; and the set of lines of headers.

    A header is all from the first decorator to the colon of its `def`: one statement.
    """
    starts, headers = [0], set()
    depth, quote, first, decorated, continued = 0, None, 1, None, False
    for number, line in enumerate(text.split("\n"), 1):
        if not depth and not quote and not continued:
            first = decorated or number
            is_header = HEADER.match(line)
            decorated = first if is_header and is_header[1] == "@" else \
                decorated if not line.strip() or line.lstrip().startswith("#") else None
        starts.append(first)
        if is_header:
            headers.add(number)
        depth, quote, continued = scan_line(line, depth, quote)
    return starts, headers


def scan_line(line, depth, quote):
    """At the end of a line: open brackets, the open string, whether a backslash continues it."""
    at = 0
    while at < len(line):
        if line[at] == "\\":
            at += 2
        elif quote:
            end = line.startswith(quote, at)
            at += len(quote) if end else 1
            quote = None if end else quote
        elif line[at] == "#":
            return depth, None, False
        else:
            opened = QUOTES.match(line, at)
            quote = opened[0] if opened else None
            depth = max(0, depth + (line[at] in "([{") - (line[at] in ")]}"))
            at += len(quote) if quote else 1
    return depth, quote if quote and len(quote) == 3 else None, line.endswith("\\")


class Origins:
    """Of one generated C file; `folder` is where its names of sources begin."""

    def __init__(self, c_file, folder):
        self.lines = [""] + c_file.read_text(encoding="utf-8", errors="replace").split("\n")
        self.folder = folder
        self.sources = {}

    def find(self, file, line):
        """Of what debug information says: (file, its line, the line of a traceback, why or "")."""
        marked = MARKED.match(file)
        if not marked:
            return file, line, line, ""
        file, number = marked[1], int(marked[2])
        directive = DIRECTIVE.match(self.lines[number])
        named = int(directive[2])
        here = number + 1 + line - named
        if "}" in self.lines[number:here]:  # Of a function above: this one has no directive yet.
            return self.find_undirected(file, line, here)
        reports = self.find_reports(here) if 0 <= here < len(self.lines) else set()
        if len(reports) == 1 and named not in reports:
            reported = reports.pop()
            why = self.compare_places(directive[3], named, reported)
            return file, line, named if why == ELSEWHERE else reported, why
        return file, line, named, COUNTED_ON if line != named else ""

    def find_undirected(self, file, line, here):
        """The module's own set-up: what a traceback has, else nothing."""
        reports = self.find_reports(here) if here < len(self.lines) else set()
        return file, line, reports.pop() if len(reports) == 1 else 0, OUTSIDE

    def find_reports(self, here):
        """The lines that are reported when what stands on a line of C fails.

        Where it is assigned to a variable, the check may follow, behind releases of other objects:
            __pyx_t_1 = f(); / __Pyx_XDECREF(__pyx_t_2); / if (unlikely(!__pyx_t_1)) __PYX_ERR(..)
        Behind __Pyx_Raise() there is none to be made.
        """
        text = self.lines[here]
        assigned = ASSIGNED.match(text)
        check = "__PYX_" if text.lstrip().startswith("__Pyx_Raise") else \
            assigned and rf"if \(unlikely\(!{assigned[1]}\)\) __PYX_"
        for after in self.lines[here + 1:here + 1 + FOLLOWING]:
            if "__PYX_" in text or not check:
                break
            code = after.strip()
            if re.match(check, code):
                text = code
            elif code and not code.startswith(("#line", "__Pyx_DECREF", "__Pyx_XDECREF", "__Pyx_GOTREF")):
                break
        return {int(found[1]) for found in REPORT.findall(text)}

    def compare_places(self, name, a, b):
        """What lines of a source have in common."""
        if name not in self.sources:
            path = self.folder / name
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
            self.sources[name] = statement_starts(text)
        starts, headers = self.sources[name]
        if max(a, b) >= len(starts) or starts[a] != starts[b]:
            return ELSEWHERE
        return HEADER_LINES if a in headers and b in headers else STATEMENT_LINES
