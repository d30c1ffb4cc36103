"""gdb's commands for merged stacks; pystack_core_gdb.py registers them. What they do is in pystack_core_commands.py."""
import functools
import os
from typing import Any

import gdb

import pystack_core_commands as commands
import pystack_core_frames as frames
import pystack_core_gdb_filter as frame_filter
import pystack_core_gdb_target as target
import pystack_core_heap_commands as heap_commands
import pystack_core_library as psc
from pystack_core_gdb_target import parameter, read_register
from pystack_core_session import Session, Wrong

KINDS = {"stack": gdb.COMMAND_STACK, "data": gdb.COMMAND_DATA, "status": gdb.COMMAND_STATUS}


def says_errors(function):
    """What goes wrong becomes one sentence of gdb's."""
    @functools.wraps(function)
    def call(*arguments):
        try:
            return function(*arguments)
        except (gdb.GdbError, KeyboardInterrupt):
            raise
        except (Wrong, psc.Failed, psc.LibraryUnusable, gdb.error) as reason:
            raise gdb.GdbError(frames.escape(str(reason))) from None
        except Exception as reason:
            if parameter("python print-stack") == "full":
                raise
            raise gdb.GdbError("%s: %s (a defect of these commands; `set python print-stack full' shows where)"
                               % (type(reason).__name__, reason)) from None
    return call


class Debugger:
    """gdb, as pystack_core_session.py wants it."""
    name = "gdb"
    help = {
        "debugger": "gdb",
        "thread": "a number of `info threads', a range of them (2-4)",
        "own": "`info locals', `list' and `print'",
        "lines": "ten lines (`set listsize')",
        "sources": "`set substitute-path' or `directory'",
        "locals": "`info locals'",
        "print": "`print'",
        "last": "The address of\nthe first object that is shown is $_ then.",
        "more": "  pipe py-bt-merged all --json | jq .crash\n\nPython's debug information is not needed.  "
                "`with style enabled off -- py-bt-merged' leaves out colors.",
    }

    check = staticmethod(target.check_target)
    kind = staticmethod(target.connection_kind)
    core_path = staticmethod(target.core_path)
    executable = staticmethod(target.executable)
    file_settings = staticmethod(target.file_settings)
    open = staticmethod(target.open_target)

    def process_id(self):
        return gdb.selected_inferior().pid

    def process_number(self):
        return gdb.selected_inferior().num

    def shell(self, line):
        gdb.execute("shell " + line)

    def stop(self):
        """What goes on is told by events, see register()."""
        core: Any = None
        if self.kind() == "core":
            path = self.core_path()
            try:
                status = os.stat(path)
                core = (path, status.st_ino, status.st_mtime, status.st_size)
            except OSError:
                core = (path,)
        return (gdb.selected_inferior().num, gdb.selected_inferior().pid, core)

    def threads(self):
        return {target.lwp_of(thread): thread.num for thread in gdb.selected_inferior().threads()}

    def selected_thread(self):
        return target.lwp_of(target.selected_thread())

    # ---- frames ----

    def frame(self):
        try:
            return gdb.selected_frame()
        except gdb.error:
            return None

    def pc_and_sp(self, frame):
        return frame.pc(), read_register(frame, "rsp")

    def inline_depth(self, frame):
        depth = 0
        while frame is not None and frame.type() == gdb.INLINE_FRAME:
            depth, frame = depth + 1, frame.older()
        return depth

    def name_of(self, frame):
        return frame.name()

    def is_newest(self, frame):
        return frame == gdb.newest_frame()

    def select(self, stack, frame):
        same = []
        one = gdb.newest_frame()
        while one is not None:
            if self.pc_and_sp(one) == (frame.pc, frame.sp):
                same.append(one)
            elif same:
                break
            one = one.older()
        if same:
            same[max(len(same) - 1 - stack.inline_depth(frame), 0)].select()
        return bool(same)

    def show_locals(self):
        for command in ("info args", "info locals"):
            gdb.execute(command)

    # ---- settings and output ----

    def use_color(self):
        """As gdb itself decides. It does not tell Python of redirection: `with style enabled off --` does."""
        return bool(parameter("style enabled")) and os.isatty(1) and not os.environ.get("NO_COLOR") \
            and os.environ.get("TERM", "dumb") != "dumb"

    def list_size(self):
        return parameter("listsize") or 2 ** 31

    def source_folders(self):
        folders = (parameter("directories") or "").replace("$cdir", "").replace("$cwd", os.getcwd())
        return [one for one in folders.split(os.pathsep) if one]

    def number(self, word):
        return int(gdb.parse_and_eval(word))

    def set_last(self, address):
        """$_, as `x' and `info line' leave it."""
        gdb.set_convenience_variable("_", gdb.Value(address).cast(gdb.lookup_type("char").pointer().pointer()))

    def write(self, text):
        # In pieces, so that an interrupt is seen between them.
        for start in range(0, len(text), 65536):
            gdb.write(text[start:start + 65536])

    def warn(self, sentence):
        gdb.write("warning: %s\n" % frames.escape(sentence), gdb.STDERR)


def complete_word(text, word, candidates):
    """gdb breaks words at '-' and more: what of the candidate comes before `word` must not be repeated."""
    token = last_token(text)
    given = len(token) - len(word)
    return [one[max(given, 0):] for one in candidates if one.startswith(token)]


def last_token(text):
    return "" if not text or text[-1].isspace() else text.split()[-1]


class Command(gdb.Command):
    """One of commands.COMMANDS, as gdb wants it."""

    def __init__(self, command):
        self.command = command
        self.__doc__ = command.help()
        super().__init__(command.name, KINDS[command.kind])

    @says_errors
    def invoke(self, argument, from_tty):
        if not self.command.repeats:
            self.dont_repeat()
        self.command.run(argument)

    def complete(self, text, word):
        try:
            return complete_word(text, word, self.command.candidates(last_token(text)))
        except Exception:  # nothing can be said while a line is being typed
            return []


class CurrentLine(gdb.Function):
    """$py_current_line() - FILE:LINE of the innermost Python or Cython frame of the selected thread.

Usage: $py_current_line()

An empty string where there is none.

Examples:
  print $py_current_line()
  break malloc if $_regex($py_current_line(), ".*/model.py:12")"""

    def __init__(self, session):
        super().__init__("py_current_line")
        self.session = session

    @says_errors
    def invoke(self):
        line = self.session.position(by_program=False).stack.current_line()
        # gdb 13 makes an array of nothing from an empty string, which $_regex and $_streq cannot read.
        return line or gdb.Value(b"\0", gdb.lookup_type("char").array(0))


def register():
    session = Session(Debugger())
    for name in ("cont", "exited", "new_objfile", "clear_objfiles", "memory_changed", "register_changed",
                 "inferior_deleted", "new_inferior"):
        registry = getattr(gdb.events, name, None)
        if registry is not None:
            registry.connect(session.forget)
    for command in commands.COMMANDS + heap_commands.COMMANDS:
        Command(command(session))
    CurrentLine(session)
    frame_filter.register(lambda: session.position(by_program=False).stack)
