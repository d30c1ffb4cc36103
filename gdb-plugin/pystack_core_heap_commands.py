"""The commands for the heap: what fills it, who holds what, what is damaged; as gdb and lldb have them in common."""
import re
import shlex

import pystack_core_commands as commands
from pystack_core_session import Wrong

FIRST_ADDRESS = re.compile(r"(?: at |^[a-z-]+ )(0x[0-9a-f]+)\b", re.M)


class HeapCommand(commands.Command):
    """What the three have in common."""
    kind = "data"
    flags: tuple = ("--json",)
    values: tuple = ("--limit",)

    def words(self, text):
        """(words that are no options, {option: its value})."""
        try:
            words = shlex.split(text)
        except ValueError as reason:
            raise Wrong("%s: %s." % (self.name, reason)) from None
        named: list = []
        options: dict = {}
        while words:
            word = words.pop(0)
            name, equals, value = word.partition("=")
            if not word.startswith("--"):
                named.append(word)
            elif word in self.flags:
                options[word] = True
            elif name in self.values and (equals or words):
                options[name] = value if equals else words.pop(0)
            elif name in self.values:
                raise Wrong("%s takes a value." % name)
            else:
                raise Wrong("Unknown option %s; the options are %s." % (word, ", ".join(self.flags + self.values)))
        return named, options

    def address(self, word):
        """Of an expression of the debugger's: 0x7f12, $rdi, $_."""
        found = self.debugger.number(word) & (2 ** 64 - 1)
        if not found:
            raise Wrong("%s is 0: no object is there." % word)
        return found

    def show(self, options, **wanted):
        limit = options.get("--limit", "0")
        if not re.match(r"\d{1,9}$", limit):
            raise Wrong("--limit takes a number.")
        self.debugger.check()
        with self.session.open() as target, target.heap() as heap:
            shown = heap.text(as_json="--json" in options, limit=int(limit), **wanted)
            warnings = heap.warnings()
        self.debugger.write(shown)
        for warning in warnings:
            self.debugger.warn(warning)
        first = FIRST_ADDRESS.search(shown)
        if first:
            self.debugger.set_last(int(first.group(1), 16))

    def candidates(self, token):
        return list(self.flags + self.values)


class Heap(HeapCommand):
    """Print what fills the memory: objects by type, memory by what it is used for.

With an ADDRESS, prints the object there: its value, its size, what refers to it and what it refers to.
ADDRESS is an expression: a number, a register, a variable.  %(last)s

  --largest      the largest objects, those with most items, common texts
  --type NAME    the objects of a type, module.Class
  --where EXPRESSION
                 those for which it holds: len(rows) > 1000
  --limit N      rows of a table, objects of a list
  --json         the same as one JSON object

Examples:
  py-heap
  py-heap --type app.Session --limit 5
  py-heap 0x7ffff6a3b2e0
  py-heap $rdi"""
    name = "py-heap"
    usage = "[ADDRESS] [OPTION...]"
    flags = ("--json", "--largest")
    values = ("--limit", "--type", "--where")

    def run(self, text):
        named, options = self.words(text)
        if len(named) > 1:
            raise Wrong("One address is enough.")
        self.show(options, largest="--largest" in options, type=options.get("--type"), where=options.get("--where"),
                  object=self.address(named[0]) if named else 0)


class WhoHolds(HeapCommand):
    """Print the shortest way to an object, or to the objects of a type, from a root with a name.

Roots are modules, frames of threads, classes, and data of code in C.  An address is an expression: a
number, a register, a variable; all else is a type.  %(last)s

  --limit N      ways to the objects of a type
  --json         the same as one JSON object

Examples:
  py-who-holds 0x7ffff6a3b2e0
  py-who-holds $rdi
  py-who-holds app.Session"""
    name = "py-who-holds"
    usage = "ADDRESS|TYPE [OPTION...]"

    def run(self, text):
        named, options = self.words(text)
        if len(named) != 1:
            raise Wrong("One address or type is wanted.")
        is_type = re.match(r"[A-Za-z_][\w.]*$", named[0])
        self.show(options, held=named[0] if is_type else hex(self.address(named[0])))


class Verify(HeapCommand):
    """Print what is damaged in the heap: counts of references, headers, lists, pools and chunks.

Each damage is named by its address, with what is around it and who refers to it.  %(last)s

  --limit N      damages that are shown
  --json         the same as one JSON object

Example:
  py-heap-verify"""
    name = "py-heap-verify"
    usage = "[OPTION...]"

    def run(self, text):
        named, options = self.words(text)
        if named:
            raise Wrong("%s takes options alone." % self.name)
        self.show(options, findings=True)


COMMANDS = (Heap, WhoHolds, Verify)
