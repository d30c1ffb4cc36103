"""The commands for merged stacks, as gdb and lldb have them in common; the debugger is that of a pystack_core_session.Session."""
import re
from typing import Dict, Optional

import pystack_core_frames as frames
import pystack_core_session as session
from pystack_core_session import Wrong

LIST_BEFORE = 5
OPTIONS = ("--all", "--locals", "--locals=python", "--no-fold", "--json")
LIMITS = ("--value-length", "--value-items", "--value-depth")
MAX_FRAMES = "--max-frames"


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
    limits: Dict[str, int] = {}
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

  --all     also the frames of the interpreter's machinery, marked; all of a
            recursion, names in full
  --locals  also arguments and local names with their values; --locals=python
            leaves out those of C
  --max-frames N
            the N innermost frames of each thread
  --no-fold each frame of a recursion
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
    usage = "[all|THREAD...] [OPTION...]"

    def run(self, text):
        text, limits = take_limits(text)
        text, most = self.take_most(text)
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
        with_locals = "python" if "--locals=python" in options else "--locals" in options
        with self.session.open() as target, \
                target.capture(threads=chosen, show_all=show_all, all_modules=as_json,
                               with_locals=with_locals, limits=limits) as trace:
            warnings = trace.warnings()
            shown = trace.json_text(show_all) if as_json else \
                trace.text(show_all, color=debugger.use_color(), no_fold="--no-fold" in options, max_frames=most)
        debugger.write(shown)
        for warning in warnings:
            debugger.warn(warning)

    def take_most(self, text):
        """Takes --max-frames N; (rest of the text, N or 0)."""
        found = re.search(r"(?:^|\s)%s(?:=|\s+|$)(\S*)" % MAX_FRAMES, text)
        if not found:
            return text, 0
        if not re.match(r"[1-9]\d{0,8}$", found.group(1)):
            raise Wrong("%s takes a number from 1 on." % MAX_FRAMES)
        return text[:found.start()] + text[found.end():], int(found.group(1))

    def candidates(self, token):
        threads = sorted(self.debugger.threads().values())
        return ["all"] + list(OPTIONS + LIMITS + (MAX_FRAMES,)) + [str(number) for number in threads]


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
    """List source lines of the selected merged frame.

Without an argument, lists %(lines)s around the line of the Python, Cython or C file; again, those after
them.  With one LINE, those around it; FIRST,LAST are the lines from FIRST to LAST; of `FIRST,' and `,LAST'
%(lines)s.  A frame whose source is not known or not here is said to have none.

Examples:
  py-list-merged
  py-list-merged 120
  py-list-merged 1,30"""
    name = "py-list-merged"
    usage = "[LINE|FIRST,LAST|FIRST,|,LAST]"
    repeats = True

    def run(self, text):
        debugger = self.debugger
        position = self.session.walkable()
        again = debugger.frame() == position.frame
        number = self.session.own_number(position)
        record = position.stack.numbered[number].record
        if not record["file"]:
            raise Wrong("No source file is known for merged frame %d, %s."
                        % (number, frames.escape(record["function"] or "??")))
        path = frames.find_source(record["file"], debugger.file_settings(), debugger.source_folders())
        if path is None:
            raise Wrong("%s is not here; %s can say where it is."
                        % (frames.escape(record["file"]), debugger.help["sources"]))
        if text.strip():
            first, last = self.take_lines(text)
        else:
            listed = position.listed and position.listed[0] == (number, path) and again
            first = position.listed[1] + 1 if listed else max((record["line"] or 1) - LIST_BEFORE, 1)
            last = first + debugger.list_size() - 1
        lines = frames.source_lines(path, first, last, record["line"])
        if not lines:
            raise Wrong("Line number %d is behind the end of %s." % (first, frames.escape(path)))
        debugger.write("".join(lines))
        self.session.stay(position, number)
        position.listed = ((number, path), first + len(lines) - 1)

    def take_lines(self, text):
        """The first and the last line that an argument asks for."""
        size = self.debugger.list_size()
        words = text.split(",")
        if len(words) == 1:
            first = max(self.take_count(text, 0) - LIST_BEFORE, 1)
            return first, first + size - 1
        if len(words) > 2 or not text.strip(" \t,"):
            raise Wrong("Lines are asked for by FIRST,LAST; either may be left out.")
        first, last = (self.take_count(word, 0) if word.strip() else None for word in words)
        if first is None:
            first = max(last - size + 1, 1)
        if last is None:
            last = first + size - 1
        if not 1 <= first <= last:
            raise Wrong("There are no lines from %d to %d." % (first, last))
        return first, last


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
        if self.session.place(position)[1] in (session.HIDDEN, session.UNKNOWN):
            return self.debugger.show_locals()
        number = self.session.own_number(position)
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
        number = self.session.own_number(position)
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
    """Print the cause of death, deadlocks, and what the threads are doing, in a few lines.

Example:
  py-why"""
    name = "py-why"
    kind = "status"

    def run(self, text):
        self.take_nothing(text)
        with self.session.open() as target, target.capture(no_source=True, with_tasks=True) as trace:
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
