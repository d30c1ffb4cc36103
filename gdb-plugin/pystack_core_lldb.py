"""lldb commands for merged Python, Cython and native stacks: command script import this file.

The stacks come from libpystack_core: of a core file it opens the file itself, of a process on this
machine it reads memory and lldb gives registers. What the commands do is in pystack_core_commands.py.
"""
import glob
import os
import re
import sys
from typing import Any, Dict, Type

import lldb

if not hasattr(lldb, "SBDebugger"):
    # Debian 12's lldb-14 looks for its module in a folder that is not there.
    _places = [os.path.dirname(place) for place in sorted(glob.glob("/usr/lib/llvm-*/lib/python3*/dist-packages/lldb"))]
    raise ImportError("lldb does not find its own Python module; start it with PYTHONPATH=%s" %
                      (" or ".join(_places) or "the folder in which its `lldb' is"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import pystack_core_commands as commands
    import pystack_core_frames as frames
    import pystack_core_heap_commands as heap_commands
    import pystack_core_library as psc
    import pystack_core_lldb_target as of_lldb
    import pystack_core_session as session
finally:
    del sys.path[0]


class Debugger:
    """lldb, as pystack_core_session.py wants it. debugger, process, thread and result are those of the command."""
    name = "lldb"
    help = {
        "debugger": "lldb",
        "thread": "a number of `thread list', a range of them (2-4)",
        "own": "`frame variable' and `source list'",
        "lines": "ten lines",
        "sources": "the setting target.source-map",
        "locals": "`frame variable'",
        "print": "`frame variable'",
        "last": "",
        "more": "\nPython's debug information is not needed.",
    }

    def __init__(self):
        # Those of lldb's that the command in work is given.
        self.debugger: Any = None
        self.process: Any = None
        self.thread: Any = None
        self.result: Any = None

    def enter(self, debugger, context, result):
        self.debugger, self.result = debugger, result
        self.process = context.GetProcess()
        self.thread = context.GetThread()
        if not self.thread.IsValid() and self.process.IsValid():
            self.thread = self.process.GetSelectedThread()

    def was_interrupted(self):
        """lldb turns only the second Ctrl-C into a KeyboardInterrupt."""
        return self.debugger is not None and self.debugger.GetCommandInterpreter().WasInterrupted()

    def check(self):
        of_lldb.check_process(self.process)

    def kind(self):
        return of_lldb.kind(self.process)

    def core_path(self):
        return of_lldb.core_path(self.process)

    def executable(self):
        return of_lldb.executable(self.process.GetTarget())

    def process_id(self):
        return self.process.GetProcessID()

    def process_number(self):
        return None

    def file_settings(self):
        return of_lldb.file_settings(self.debugger)

    def shell(self, line):
        os.system(line)

    def open(self):
        if self.kind() == "core":
            return psc.open_core(self.core_path(), self.executable(), self.file_settings())
        return psc.open_held_process(of_lldb.held_process(self.process), self.executable(), self.file_settings())

    def stop(self):
        return (self.process.GetUniqueID(), self.process.GetStopID())

    def threads(self):
        return {thread.GetThreadID(): thread.GetIndexID() for thread in self.process}

    def selected_thread(self):
        if not self.thread.IsValid():
            raise session.Wrong("No thread is selected.")
        return self.thread.GetThreadID()

    # ---- frames ----

    def frame(self):
        """lldb makes an object anew each time it is asked for a frame: what it is, instead."""
        frame = self.thread.GetSelectedFrame()
        return (frame.GetFrameID(), frame.GetPC(), frame.GetSP()) if frame.IsValid() else None

    def pc_and_sp(self, frame):
        return frame[1:]

    def inline_depth(self, frame):
        same = [one.GetFrameID() for one in self.thread if (one.GetPC(), one.GetSP()) == frame[1:]]
        return len(same) - 1 - same.index(frame[0]) if frame[0] in same else 0

    def name_of(self, frame):
        return self.thread.GetFrameAtIndex(frame[0]).GetFunctionName()

    def is_newest(self, frame):
        return frame[0] == 0

    def select(self, stack, frame):
        same = [one for one in self.thread if (one.GetPC(), one.GetSP()) == (frame.pc, frame.sp)]
        if same:
            self.thread.SetSelectedFrame(same[max(len(same) - 1 - stack.inline_depth(frame), 0)].GetFrameID())
        return bool(same)

    def show_locals(self):
        said = lldb.SBCommandReturnObject()
        context = lldb.SBExecutionContext(self.thread.GetSelectedFrame())
        self.debugger.GetCommandInterpreter().HandleCommand("frame variable", context, said)
        if not said.Succeeded():
            raise session.Wrong((said.GetError() or "").strip().replace("error: ", ""))
        self.write(said.GetOutput() or "No locals.\n")

    # ---- settings and output ----

    def use_color(self):
        return self.debugger.GetUseColor()

    def list_size(self):
        return 10

    def source_folders(self):
        return []

    def number(self, word):
        """A number; of a register or a variable its value."""
        if re.match(r"\d+$|0[xX][0-9a-fA-F]+$", word):
            return int(word, 0)
        frame = self.thread.GetSelectedFrame()
        register = frame.FindRegister(word.lstrip("$")) if word.startswith("$") else None
        value = register if register and register.IsValid() else frame.EvaluateExpression(word)
        if not value.IsValid() or value.GetError().Fail():
            raise session.Wrong("Not a number: %s" % word)
        return value.GetValueAsUnsigned()

    def set_last(self, address):
        """lldb has no variable for what was shown last."""

    def write(self, text):
        self.result.AppendMessage(text[:-1] if text.endswith("\n") else text)

    def warn(self, sentence):
        self.result.AppendWarning(frames.escape(sentence))


class Command:
    """One of commands.COMMANDS, as lldb wants it."""
    kind: Type[commands.Command]

    def __init__(self, debugger, _dictionary):
        # lldb makes a new one for each call in some versions: what is known is kept beside.
        self.session = sessions.setdefault(debugger.GetID(), session.Session(Debugger()))
        self.command = self.kind(self.session)

    def get_short_help(self):
        return self.command.help().split("\n", 1)[0]

    def get_long_help(self):
        return self.command.help() + "\n"

    def __call__(self, debugger, command, context, result):
        if not context.GetTarget().IsValid():  # called from a script
            context = lldb.SBExecutionContext(debugger.GetSelectedTarget().GetProcess())
        self.session.debugger.enter(debugger, context, result)
        psc.ask_for_interrupts(self.session.debugger.was_interrupted)
        try:
            self.command.run(command)
        except (session.Wrong, psc.Failed, psc.LibraryUnusable) as reason:
            result.SetError(frames.escape(str(reason)))
        except KeyboardInterrupt:
            result.SetError("Quit")


sessions: Dict[int, session.Session] = {}


def __lldb_init_module(debugger, _dictionary):
    for command in commands.COMMANDS + heap_commands.COMMANDS:
        name = "Command_" + command.name.replace("-", "_")
        globals()[name] = type(name, (Command,), {"kind": command})
        debugger.HandleCommand("command script add -c %s.%s %s" % (__name__, name, command.name))
