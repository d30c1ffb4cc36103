"""gdb's commands for merged stacks; pystack_core_gdb.py registers them."""
import functools
import os
import re

import gdb

import pystack_core_frames as frames
import pystack_core_gdb_filter as frame_filter
import pystack_core_interface as interface
import pystack_core_library as psc
from pystack_core_gdb_target import (check_target, connection_kind, core_path, executable, lwp_of,
                                     open_target, parameter, places, read_register, selected_thread,
                                     threads_by_lwp)

LIST_BEFORE = 5


# ---- handing over to the program ----

def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def hand_over(reason, arguments):
    """Lets the program do it; it needs nothing of gdb's Python."""
    program = interface.find_program()
    kind = connection_kind()
    if kind not in ("core", "native"):
        raise gdb.GdbError("%s. Of a core file (generate-core-file) the program pystack-core shows the same."
                           % reason)
    if not program:
        raise gdb.GdbError("%s, and the program pystack-core is not found either." % reason)
    gdb.write("warning: %s; the program %s does it instead.\n" % (reason, program), gdb.STDERR)
    if kind == "core":
        words = [program] + arguments + ["--", core_path()] + ([executable()] if executable() else [])
    else:
        words = [program] + arguments + ["--pid", str(gdb.selected_inferior().pid)]
    gdb.execute("shell " + " ".join(quote(word) for word in words))


# ---- commands ----

def use_color():
    """As gdb itself decides. It does not tell Python of redirection: `with style enabled off --` does."""
    return bool(parameter("style enabled")) and os.isatty(1) and not os.environ.get("NO_COLOR") \
        and os.environ.get("TERM", "dumb") != "dumb"


def write(text):
    # In pieces, so that an interrupt is seen between them.
    for start in range(0, len(text), 65536):
        gdb.write(text[start:start + 65536])


def write_warnings(warnings):
    for warning in warnings:
        gdb.write("warning: %s\n" % warning, gdb.STDERR)


def says_errors(function):
    """What goes wrong becomes one sentence of gdb's."""
    @functools.wraps(function)
    def call(*arguments):
        try:
            return function(*arguments)
        except (gdb.GdbError, KeyboardInterrupt):
            raise
        except (psc.Failed, psc.LibraryUnusable) as reason:
            raise gdb.GdbError(str(reason)) from None
        except gdb.error as reason:
            raise gdb.GdbError(str(reason)) from None
        except Exception as reason:
            if parameter("python print-stack") == "full":
                raise
            raise gdb.GdbError("%s: %s (a defect of these commands; `set python print-stack full' shows where)"
                               % (type(reason).__name__, reason)) from None
    return call


def complete_word(text, word, candidates):
    """gdb breaks words at '-': what of the candidate comes before `word` must not be repeated."""
    token = text[len(text.rstrip()):] and "" or text.split()[-1] if text.strip() else ""
    if text[-1:].isspace():
        token = ""
    given = len(token) - len(word)
    return [one[max(given, 0):] for one in candidates if one.startswith(token)]


def parse_threads(words):
    """gdb's thread numbers (1, 2-4, 1.3, 1.*) or ids of the system, as the latter."""
    listed = threads_by_lwp()
    inferior = gdb.selected_inferior()
    wanted = []
    for word in words:
        found = re.match(r"(?:(\d+)\.)?(?:(\d+)(?:-(\d+))?|(\*))$", word)
        if not found:
            raise gdb.GdbError("Invalid thread ID: %s" % word)
        if found.group(1) and int(found.group(1)) != inferior.num:
            raise gdb.GdbError("Thread %s is not one of the selected inferior." % word)
        if found.group(4):
            wanted += sorted(listed)
            continue
        first = int(found.group(2))
        last = int(found.group(3) or first)
        chosen = [lwp for lwp, thread in listed.items() if first <= thread.num <= last]
        if not chosen and first == last and first in listed:
            chosen = [first]
        if not chosen:
            raise gdb.GdbError("Unknown thread %s." % word)
        wanted += sorted(chosen, key=lambda lwp: listed[lwp].num)
    return list(dict.fromkeys(wanted))


class Command(gdb.Command):
    """What all of them share: errors as one sentence, completion, options."""
    name = None
    kind = gdb.COMMAND_STACK
    words = ()
    takes_threads = False

    def __init__(self):
        super().__init__(self.name, self.kind)

    @says_errors
    def invoke(self, argument, from_tty):
        self.dont_repeat()
        self.run(gdb.string_to_argv(argument))

    def complete(self, text, word):
        candidates = list(self.words)
        try:
            if self.takes_threads:
                candidates += [str(thread.num) for thread in gdb.selected_inferior().threads()]
        except gdb.error:
            pass
        return complete_word(text, word, candidates)

    def take_nothing(self, words):
        if words:
            raise gdb.GdbError("%s takes no arguments." % self.name)


class Backtrace(Command):
    """Print the merged stack of Python, Cython and native frames.
Usage: py-bt-merged [all|THREAD...] [--all] [--json]

Without a thread, prints that of the selected one; `all' prints those of all threads, the crashed one
first, equal ones together.  THREAD is a number of `info threads', a range of them (2-4), or the id that
the system gives a thread.

  --all   also the frames of the interpreter's machinery, marked
  --json  the same as one JSON object

Examples:
  py-bt-merged
  py-bt-merged all
  py-bt-merged 2-4 --all
  pipe py-bt-merged all --json | jq .crash

Python's debug information is not needed.  `with style enabled off -- py-bt-merged' leaves out colors."""
    name = "py-bt-merged"
    words = ("all", "--all", "--json")
    takes_threads = True

    def run(self, words):
        options = [word for word in words if word.startswith("-")]
        named = [word for word in words if not word.startswith("-")]
        for option in options:
            if option not in ("--all", "--json"):
                raise gdb.GdbError("Unknown option %s; the options are --all and --json." % option)
        check_target()
        if named == ["all"]:
            chosen = {}
        elif named:
            chosen = {"threads": parse_threads(named)}
        else:
            chosen = {"thread": lwp_of(selected_thread())}
        try:
            psc.load()
        except psc.LibraryUnusable as reason:
            return hand_over(str(reason), self.program_arguments(chosen, options))
        show_all, as_json = "--all" in options, "--json" in options
        with open_target() as target, \
                target.capture(show_all=show_all, all_modules=as_json, **chosen) as trace:
            warnings = trace.warnings()
            if as_json:
                text = trace.json_text(show_all)
            else:
                text = trace.text(show_all, color=use_color())
        write(text)
        write_warnings(warnings)

    def program_arguments(self, chosen, options):
        arguments = ["--color", "always" if use_color() else "never"]
        if "--all" in options:
            arguments.append("--all")
        if "--json" in options:
            arguments += ["--format", "json"]
        if "threads" in chosen and len(chosen["threads"]) > 1:
            gdb.write("warning: it shows all threads: it takes one thread or all.\n", gdb.STDERR)
        elif chosen and connection_kind() == "core":  # of a process that gdb holds it reads all or nothing
            arguments += ["--thread", str(chosen.get("thread") or chosen["threads"][0])]
        return arguments


# ---- moving along the merged stack ----

class Position:
    """Where in the merged stack of a thread the user is."""

    def __init__(self, stack):
        self.stack = stack
        self.number = None
        self.gdb_frame = None  # that was selected when number was set
        self.listed = None     # (file, last line) of py-list-merged


class Positions:
    """One for each thread looked at, until the target runs or changes."""

    def __init__(self):
        self.known = {}
        for name in ("cont", "exited", "new_objfile", "clear_objfiles", "memory_changed", "register_changed",
                     "inferior_deleted", "new_inferior"):
            registry = getattr(gdb.events, name, None)
            if registry is not None:
                registry.connect(self.forget)

    def forget(self, _event=None):
        self.known.clear()

    def key(self, thread):
        core = None
        if connection_kind() == "core":
            path = core_path()
            try:
                status = os.stat(path)
                core = (path, status.st_ino, status.st_mtime, status.st_size)
            except OSError:
                core = (path,)
        return (gdb.selected_inferior().num, thread.ptid, core, use_color())

    def get(self):
        """The Position of the selected thread; captured when it is not known."""
        check_target()
        thread = selected_thread()
        key = self.key(thread)
        position = self.known.get(key)
        if position is None:
            with open_target() as target, target.capture(thread=lwp_of(thread)) as trace:
                position = Position(frames.Stack(trace, color=use_color()))
            # open_target() may have made gdb read files, which says that the objfiles have changed.
            self.known[key] = position
        return position


positions = Positions()


def selected_frame():
    try:
        return gdb.selected_frame()
    except gdb.error:
        return None


def frame_place(frame):
    return frame.pc(), read_register(frame, "rsp")


def current_number(position):
    """Where the user is: where the last command went, unless gdb's own frame was moved since."""
    frame = selected_frame()
    if position.number is not None and frame == position.gdb_frame:
        return position.number
    if frame is None:
        return 0
    if frame == gdb.newest_frame():
        return 0
    index = position.stack.place_of(*frame_place(frame))
    return 0 if index is None else position.stack.number_at(index)


def gdb_frame_of(stack, frame):
    """gdb's frame for a native one of ours, or None."""
    same = []
    one = gdb.newest_frame()
    while one is not None:
        if one.pc() == frame.pc and read_register(one, "rsp") == frame.sp:
            same.append(one)
        elif same:
            break
        one = one.older()
    if not same:
        return None
    return same[max(len(same) - 1 - stack.inline_depth(frame), 0)]


def go_to(position, number):
    """Selects a merged frame, and gdb's own where there is one; prints it."""
    frame = position.stack.numbered[number]
    if frame.is_native:
        native = gdb_frame_of(position.stack, frame)
        if native is not None:
            native.select()
    position.number = number
    position.gdb_frame = selected_frame()
    position.listed = None
    write(frame.text)
    if frame.is_native and native is None:
        gdb.write("warning: gdb does not have this frame; its selected frame stays.\n", gdb.STDERR)


def parse_count(words, otherwise):
    if not words:
        return otherwise
    if len(words) > 1:
        raise gdb.GdbError("One number is enough.")
    return int(gdb.parse_and_eval(words[0]))


def walkable():
    position = positions.get()
    if not position.stack.numbered:
        raise gdb.GdbError("The merged stack of this thread has no frames.")
    return position


class Up(Command):
    """Select and print the merged frame that called this one.
Usage: py-up-merged [COUNT]

On native and Cython frames gdb's own selected frame follows, so that `info locals', `list' and
`print' work there; on Python frames use py-list-merged.

Examples:
  py-up-merged
  py-up-merged 3"""
    name = "py-up-merged"
    step = 1

    def invoke(self, argument, from_tty):  # an empty line repeats it, as for up
        says_errors(self.run)(gdb.string_to_argv(argument))

    def run(self, words):
        position = walkable()
        number = current_number(position)
        wanted = number + self.step * parse_count(words, 1)
        last = len(position.stack.numbered) - 1
        if wanted < 0 and number == 0:
            raise gdb.GdbError("Bottom (innermost) merged frame selected; you cannot go down.")
        if wanted > last and number == last:
            raise gdb.GdbError("Initial merged frame selected; you cannot go up.")
        go_to(position, min(max(wanted, 0), last))


class Down(Up):
    """Select and print the merged frame that this one called.
Usage: py-down-merged [COUNT]

Examples:
  py-down-merged
  py-down-merged 3"""
    name = "py-down-merged"
    step = -1


class Frame(Command):
    """Select and print a merged frame by its number in py-bt-merged.
Usage: py-frame-merged [NUMBER]

Without a number, prints the selected one.

Example:
  py-frame-merged 7"""
    name = "py-frame-merged"

    def run(self, words):
        position = walkable()
        number = parse_count(words, current_number(position))
        if not 0 <= number < len(position.stack.numbered):
            raise gdb.GdbError("No merged frame at level %d; there are %d."
                               % (number, len(position.stack.numbered)))
        go_to(position, number)


class List(Command):
    """List source lines around the line of the selected merged frame.
Usage: py-list-merged [LINE]

Lists ten lines (`set listsize') of the Python, Cython or C file; again, the ten after them.

Examples:
  py-list-merged
  py-list-merged 120"""
    name = "py-list-merged"

    def invoke(self, argument, from_tty):  # an empty line goes on
        says_errors(self.run)(gdb.string_to_argv(argument))

    def run(self, words):
        position = walkable()
        number = current_number(position)
        record = position.stack.numbered[number].record
        if not record["file"]:
            raise gdb.GdbError("No source file is known for merged frame %d." % number)
        folders = (parameter("directories") or "").replace("$cdir", "").replace("$cwd", os.getcwd())
        path = frames.find_source(record["file"], places(), [one for one in folders.split(os.pathsep) if one])
        if path is None:
            raise gdb.GdbError("%s is not here; `set substitute-path' or `directory' can say where it is."
                               % frames.escape(record["file"]))
        size = parameter("listsize") or 2 ** 31
        if words:
            first = max(parse_count(words, 0) - LIST_BEFORE, 1)
        elif position.listed and position.listed[0] == (number, path):
            first = position.listed[1] + 1
        else:
            first = max((record["line"] or 1) - LIST_BEFORE, 1)
        lines = frames.source_lines(path, first, first + size - 1, record["line"])
        if not lines:
            raise gdb.GdbError("Line number %d is behind the end of %s." % (first, frames.escape(path)))
        write("".join(lines))
        position.number, position.gdb_frame = number, selected_frame()
        position.listed = ((number, path), first + len(lines) - 1)


class Why(Command):
    """Print the cause of death, and what the threads are doing, in a few lines.
Usage: py-why

Example:
  py-why"""
    name = "py-why"
    kind = gdb.COMMAND_STATUS

    def run(self, words):
        self.take_nothing(words)
        with open_target() as target, target.capture(no_source=True) as trace:
            header = frames.split_text(trace.text(color=use_color()))[0]
            text = frames.why(header, trace.document())
        write(text)


class Threads(Command):
    """Print one line for each thread: gdb's number, name, state, and where it is in Python.
Usage: py-threads-merged

The selected thread is marked by `*'.

Example:
  py-threads-merged"""
    name = "py-threads-merged"
    kind = gdb.COMMAND_STATUS

    def run(self, words):
        self.take_nothing(words)
        with open_target() as target, target.capture(no_source=True) as trace:
            document = trace.document()
        listed = threads_by_lwp()
        selected = gdb.selected_thread()

        def label(tid):
            thread = listed.get(tid)
            mark = "*" if thread is not None and thread == selected else " "
            return "%s %-4s " % (mark, thread.num if thread is not None else "-")

        write("".join(frames.thread_lines(document, label)))


class CurrentLine(gdb.Function):
    """$py_current_line() - FILE:LINE of the innermost Python or Cython frame of the selected thread.

Usage: $py_current_line()

An empty string where there is none.

Examples:
  print $py_current_line()
  break malloc if $_regex($py_current_line(), ".*/model.py:12")"""

    def __init__(self):
        super().__init__("py_current_line")

    @says_errors
    def invoke(self):
        check_target()
        return positions.get().stack.current_line()


def register():
    for command in (Backtrace, Up, Down, Frame, List, Why, Threads, CurrentLine):
        command()
    frame_filter.register(lambda: positions.get().stack)
