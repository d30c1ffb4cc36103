"""The commands for merged stacks, as gdb and lldb have them in common.

A command works on a Session, which holds what is known of the stop and the debugger itself:

    name                      "gdb"
    help                      words for the help texts, see HELP below
    check()                   raises Wrong when nothing is stopped here
    kind()                    "core", "native", "remote" or another word
    open()                    a target of pystack_core_library
    core_path(), executable(), process_id(), shell(line)    for the program, where there is no library
    file_settings()           pystack_core_library.FileSettings
    stop()                    something that is another when the target went on, or is another one
    threads()                 {id of the system: the debugger's number}
    selected_thread()         id of the system
    process_number()          the N of thread N.M, or None
    frame()                   the selected frame, or None; equal while it is the same
    pc_and_sp(frame)
    is_newest(frame)
    select(stack, frame)      selects the debugger's own frame for a native one of ours; false: it has none
    use_color(), list_size(), source_folders()
    number(word)              of a command's argument
    write(text), warn(sentence)
    show_locals()             the debugger's own locals of its selected frame
"""
import re
from typing import Optional

import pystack_core_frames as frames
import pystack_core_library as psc
import pystack_core_program as program

LIST_BEFORE = 5
OPTIONS = ("--all", "--locals", "--json")
LIMITS = ("--value-length", "--value-items", "--value-depth")


class Wrong(Exception):
    """One sentence for the user."""


# ---- where the user is ----

class Position:
    """Where in the merged stack of a thread the user is."""

    def __init__(self, stack):
        self.stack = stack
        self.number = None
        self.frame = None       # the debugger's, that was selected when number was set
        self.listed = None      # (file, last line) of py-list-merged
        self.with_locals = None  # the same stack with values
        self.limits = None      # of these values


class Session:
    """What is known until the target runs or changes."""

    def __init__(self, debugger):
        self.debugger = debugger
        self.positions = {}

    def forget(self, *_):
        self.positions.clear()

    def open(self, by_program=True):
        """The target under the debugger; close it, best by `with`, before it goes on."""
        self.debugger.check()
        try:
            psc.load()
        except psc.LibraryUnusable as reason:
            if not by_program:
                raise
            try:
                target, path = program.open_target(self.debugger)
            except psc.Failed as other:
                raise Wrong("%s, and %s." % (reason, other)) from None
            self.debugger.warn("%s; the program %s does it instead." % (reason, path))
            return target
        return self.debugger.open()

    def capture(self, by_program=True, with_locals=False, limits=None):
        """The stack of the selected thread."""
        tid = self.debugger.selected_thread()
        with self.open(by_program) as target, \
                target.capture(threads=[tid], with_locals=with_locals, limits=limits) as trace:
            return frames.Stack(trace, color=self.debugger.use_color())

    def position(self, by_program=True):
        """That of the selected thread; captured when it is not known."""
        debugger = self.debugger
        debugger.check()
        stop = debugger.stop()
        key = (stop, debugger.selected_thread(), debugger.use_color())
        if key not in self.positions:
            position = Position(self.capture(by_program))
            for old in [one for one in self.positions if one[0] != stop]:
                del self.positions[old]
            self.positions[key] = position
        return self.positions[key]

    def walkable(self):
        position = self.position()
        if not position.stack.numbered:
            raise Wrong("The merged stack of this thread has no frames.")
        return position

    def number(self, position):
        """Where the user is: where the last command went, unless the debugger's own frame was moved since."""
        debugger, frame = self.debugger, self.debugger.frame()
        if position.number is not None and frame == position.frame:
            return position.number
        if frame is None or debugger.is_newest(frame):
            return 0
        index = position.stack.index_of(*debugger.pc_and_sp(frame))
        return 0 if index is None else position.stack.number_at(index)

    def stay(self, position, number):
        position.number, position.frame = number, self.debugger.frame()

    def go_to(self, position, number):
        """Selects a merged frame, and the debugger's own where there is one; prints it."""
        frame = position.stack.numbered[number]
        found = not frame.is_native or self.debugger.select(position.stack, frame)
        self.stay(position, number)
        position.listed = None
        self.debugger.write(frame.text)
        if not found:
            self.debugger.warn("%s does not have this frame; its selected frame stays." % self.debugger.name)

    def locals(self, position, number, limits=None):
        """(name, value) of the names in a merged frame, or None where no values are known."""
        if position.with_locals is None or position.limits != limits:
            known = dict(self.positions)
            position.with_locals = self.capture(with_locals=True, limits=limits)
            position.limits = limits
            self.positions.update(known)  # the debugger may have read files, which looks like a change
        numbered = position.with_locals.numbered
        return numbered[number].locals() if number < len(numbered) else None


# ---- arguments ----

def parse_threads(debugger, words):
    """The debugger's thread numbers (1, 2-4; 1.3, 1.* in gdb) or ids of the system, as the latter."""
    listed = debugger.threads()
    wanted = []
    for word in words:
        found = re.match(r"(?:(\d+)\.)?(?:(\d+)(?:-(\d+))?|(\*))$", word)
        if not found or (found.group(1) and debugger.process_number() is None):
            raise Wrong("Invalid thread ID: %s" % word)
        if found.group(1) and int(found.group(1)) != debugger.process_number():
            raise Wrong("Thread %s is not one of the selected inferior." % word)
        if found.group(4):
            wanted += sorted(listed)
            continue
        first = int(found.group(2))
        last = int(found.group(3) or first)
        chosen = [tid for tid, number in listed.items() if first <= number <= last]
        if not chosen and first == last and first in listed:
            chosen = [first]
        if not chosen:
            raise Wrong("Unknown thread %s." % word)
        wanted += sorted(chosen, key=listed.get)
    return list(dict.fromkeys(wanted))


def take_limits(text):
    """Takes `--value-items N' and the like, which stand before all else; (rest of the text, {"items": N})."""
    limits = {}
    while True:
        found = re.match(r"\s*(--value-(?:length|items|depth))(?:=|\s+|$)(\S*)", text)
        if not found:
            return text, limits or None
        if not re.match(r"[1-9]\d{0,8}$", found.group(2)):
            raise Wrong("%s takes a number from 1 on." % found.group(1))
        limits[found.group(1)[len("--value-"):]] = int(found.group(2))
        text = text[found.end():]


# ---- commands ----

class Command:
    """What all of them share. `text` of run() and complete() is what stands behind the name."""
    name: str
    usage: Optional[str] = None
    repeats = False  # an empty line does it again
    kind = "stack"

    def __init__(self, session):
        self.session = session
        self.debugger = session.debugger

    def run(self, text):
        raise NotImplementedError

    def help(self):
        """As the debugger's own: one sentence, Usage, more, examples."""
        summary, _, rest = (self.__doc__ or "").partition("\n")
        usage = "Usage: %s%s" % (self.name, " " + self.usage if self.usage else "")
        return "%s\n%s\n%s" % (summary, usage, rest.rstrip("\n")) % self.debugger.help

    def candidates(self, token):
        """What the last word may become."""
        return []

    def take_nothing(self, text):
        if text.strip():
            raise Wrong("%s takes no arguments." % self.name)

    def take_count(self, text, otherwise):
        words = text.split()
        if len(words) > 1:
            raise Wrong("One number is enough.")
        return self.debugger.number(words[0]) if words else otherwise


class Backtrace(Command):
    """Print the merged stack of Python, Cython and native frames.

Without a thread, prints that of the selected one; `all' prints those of all threads, the crashed one
first, equal ones together.
THREAD is %(thread)s, or the id that the system gives it.

  --all     also the frames of the interpreter's machinery, marked
  --locals  also arguments and local names with their values
  --json    the same as one JSON object
  --value-length N, --value-items N, --value-depth N
            first of all: so many characters of a text, items of a container,
            containers in containers

Examples:
  py-bt-merged
  py-bt-merged all
  py-bt-merged 2-4 --all --locals
%(more)s"""
    name = "py-bt-merged"
    usage = "[--value-length|-items|-depth N]... [all|THREAD...] [--all] [--locals] [--json]"

    def run(self, text):
        text, limits = take_limits(text)
        words = text.split()
        options = [word for word in words if word.startswith("-")]
        named = [word for word in words if not word.startswith("-")]
        for option in options:
            if option not in OPTIONS:
                raise Wrong("Unknown option %s; the options are %s and %s."
                            % (option, ", ".join(OPTIONS[:-1]), OPTIONS[-1]))
        debugger = self.debugger
        debugger.check()
        if named == ["all"]:
            chosen = None
        elif named:
            chosen = parse_threads(debugger, named)
        else:
            chosen = [debugger.selected_thread()]
        show_all, as_json = "--all" in options, "--json" in options
        with self.session.open() as target, \
                target.capture(threads=chosen, show_all=show_all, all_modules=as_json,
                               with_locals="--locals" in options, limits=limits) as trace:
            warnings = trace.warnings()
            shown = trace.json_text(show_all) if as_json else trace.text(show_all, color=debugger.use_color())
        debugger.write(shown)
        for warning in warnings:
            debugger.warn(warning)

    def candidates(self, token):
        return ["all"] + list(OPTIONS + LIMITS) + [str(number) for number in sorted(self.debugger.threads().values())]


class Up(Command):
    """Select and print the merged frame that called this one.

On native and Cython frames %(debugger)s's own selected frame follows, so that
%(own)s work there.
On Python frames use py-list-merged, py-locals-merged and py-print-merged.

Examples:
  py-up-merged
  py-up-merged 3"""
    name = "py-up-merged"
    usage = "[COUNT]"
    repeats = True
    step = 1

    def run(self, text):
        position = self.session.walkable()
        number = self.session.number(position)
        wanted = number + self.step * self.take_count(text, 1)
        last = len(position.stack.numbered) - 1
        if wanted < 0 and number == 0:
            raise Wrong("Bottom (innermost) merged frame selected; you cannot go down.")
        if wanted > last and number == last:
            raise Wrong("Initial merged frame selected; you cannot go up.")
        self.session.go_to(position, min(max(wanted, 0), last))


class Down(Up):
    """Select and print the merged frame that this one called.

Examples:
  py-down-merged
  py-down-merged 3"""
    name = "py-down-merged"
    step = -1


class Frame(Command):
    """Select and print a merged frame by its number in py-bt-merged.

Without a number, prints the selected one.

Example:
  py-frame-merged 7"""
    name = "py-frame-merged"
    usage = "[NUMBER]"

    def run(self, text):
        position = self.session.walkable()
        number = self.take_count(text, self.session.number(position))
        if not 0 <= number < len(position.stack.numbered):
            raise Wrong("No merged frame at level %d; there are %d." % (number, len(position.stack.numbered)))
        self.session.go_to(position, number)


class List(Command):
    """List source lines around the line of the selected merged frame.

Lists %(lines)s of the Python, Cython or C file; again, those after them.

Examples:
  py-list-merged
  py-list-merged 120"""
    name = "py-list-merged"
    usage = "[LINE]"
    repeats = True

    def run(self, text):
        debugger = self.debugger
        position = self.session.walkable()
        number = self.session.number(position)
        record = position.stack.numbered[number].record
        if not record["file"]:
            raise Wrong("No source file is known for merged frame %d." % number)
        path = frames.find_source(record["file"], debugger.file_settings(), debugger.source_folders())
        if path is None:
            raise Wrong("%s is not here; %s can say where it is."
                        % (frames.escape(record["file"]), debugger.help["sources"]))
        size = debugger.list_size()
        if text.strip():
            first = max(self.take_count(text, 0) - LIST_BEFORE, 1)
        elif position.listed and position.listed[0] == (number, path):
            first = position.listed[1] + 1
        else:
            first = max((record["line"] or 1) - LIST_BEFORE, 1)
        lines = frames.source_lines(path, first, first + size - 1, record["line"])
        if not lines:
            raise Wrong("Line number %d is behind the end of %s." % (first, frames.escape(path)))
        debugger.write("".join(lines))
        self.session.stay(position, number)
        position.listed = ((number, path), first + len(lines) - 1)


class Locals(Command):
    """Print arguments and local names of the selected merged frame, with their values.

Values are read as the library reads them, and nothing of the program is called.  On a frame of C or
Cython whose values are not known, this is %(debugger)s's own %(locals)s.

  --value-length N, --value-items N, --value-depth N
            so many characters of a text, items of a container, containers in containers

Examples:
  py-locals-merged
  py-locals-merged --value-items 1000"""
    name = "py-locals-merged"
    usage = "[--value-length|-items|-depth N]..."

    def run(self, text):
        text, limits = take_limits(text)
        self.take_nothing(text)
        position = self.session.walkable()
        number = self.session.number(position)
        frame = position.stack.numbered[number]
        known = self.session.locals(position, number, limits)
        if known:
            self.debugger.write("".join("%s = %s\n" % one for one in known))
        elif frame.kind == "python":
            self.debugger.write("No locals.\n")
        elif frame.is_native and self.debugger.select(position.stack, frame):
            self.debugger.show_locals()
        else:
            raise Wrong("No values are known of merged frame %d, and %s does not have it."
                        % (number, self.debugger.name))
        self.session.stay(position, number)

    def candidates(self, token):
        return list(LIMITS)


class Print(Command):
    """Print the value of a name in the selected merged frame.

The name is looked for among the frame's locals, then those of enclosing functions, then the globals of
its module, then the builtins.  Attributes, and items of lists, tuples and dicts, may follow it.  Values
are read, and nothing of the program is called: what only code can give, such as a property, is not shown.
On frames of Cython and C it knows the names that py-locals-merged shows.

  --value-length N, --value-items N, --value-depth N
            so many characters of a text, items of a container, containers in containers

Examples:
  py-print-merged rank
  py-print-merged self.model.rows[-1]
  py-print-merged config['learning rate']
  py-print-merged --value-items 1000 self.model.rows"""
    name = "py-print-merged"
    usage = "[--value-length|-items|-depth N]... NAME[.ATTRIBUTE|[NUMBER]|['KEY']]..."
    kind = "data"

    def run(self, text):
        text, limits = take_limits(text)
        what = text.strip()
        if not what:
            raise Wrong("The name of what is to be printed is missing.")
        position = self.session.walkable()
        number = self.session.number(position)
        frame = position.stack.numbered[number]
        if frame.kind != "python":
            return self.print_known(position, number, what, limits)
        if not frame.address:
            raise Wrong("Single values need the library, which cannot be used here; py-locals-merged shows the "
                        "names of the frame.")
        with self.session.open(by_program=False) as target:
            scope, value = target.value(frame.address, what, limits)
        self.debugger.write("%s %s = %s\n" % (scope, frames.escape(what), frames.escape(value)))

    def print_known(self, position, number, what, limits):
        found = dict(self.session.locals(position, number, limits) or [])
        if what not in found:
            raise Wrong("Merged frame %d is not one of Python, and no value of '%s' is known there; %s's own "
                        "%s knows such frames." % (number, frames.escape(what), self.debugger.name,
                                                   self.debugger.help["print"]))
        self.debugger.write("local %s = %s\n" % (frames.escape(what), found[what]))

    def candidates(self, token):
        position = self.session.walkable()
        frame = position.stack.numbered[self.session.number(position)]
        if not frame.address:
            return [name for name, _ in self.session.locals(position, self.session.number(position)) or []]
        value, dot, _ = token.rpartition(".")
        with self.session.open(by_program=False) as target:
            if not dot:
                return sorted(set(target.names(frame.address)))
            return [value + "." + name for name in sorted(set(target.names(frame.address, value)))]


class Why(Command):
    """Print the cause of death, and what the threads are doing, in a few lines.

Example:
  py-why"""
    name = "py-why"
    kind = "status"

    def run(self, text):
        self.take_nothing(text)
        with self.session.open() as target, target.capture(no_source=True) as trace:
            header = frames.split_text(trace.text(color=self.debugger.use_color()))[0]
            shown = frames.why(header, trace.document())
        self.debugger.write(shown)


class Threads(Command):
    """Print one line for each thread: %(debugger)s's number, name, state, and where it is in Python.

The selected thread is marked by `*'.

Example:
  py-threads-merged"""
    name = "py-threads-merged"
    kind = "status"

    def run(self, text):
        self.take_nothing(text)
        with self.session.open() as target, target.capture(no_source=True) as trace:
            document = trace.document()
        listed, selected = self.debugger.threads(), self.debugger.selected_thread()

        def label(tid):
            return "%s %-4s " % ("*" if tid == selected else " ", listed.get(tid, "-"))

        self.debugger.write("".join(frames.thread_lines(document, label)))


COMMANDS = (Backtrace, Up, Down, Frame, List, Locals, Print, Why, Threads)
