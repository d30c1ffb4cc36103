"""lldb commands for merged Python, Cython and native stacks: command script import this file.

The stacks come from libpystack_core: of a core file it opens the file itself, of a process on this
machine it reads memory and lldb gives registers.
"""
import os
import re
import shlex
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import pystack_core_frames as frames
    import pystack_core_library as psc
finally:
    del sys.path[0]

ELF_TYPE_CORE = 4
DEADLY_SIGNALS = {3, 4, 6, 7, 8, 11, 24, 25, 31}


class Wrong(Exception):
    """One sentence for the user."""


# ---- what lldb knows ----

def mapped_cores():
    """The core files that this lldb has mapped: it does not say which one a target was made of."""
    found = set()
    with open("/proc/self/maps") as file:
        paths = {line.split(None, 5)[5].rstrip("\n") for line in file if "/" in line}
    for path in paths:
        try:
            with open(path, "rb") as file:
                header = file.read(18)
        except OSError:
            continue
        if header[:4] == b"\x7fELF" and header[16] == ELF_TYPE_CORE:
            found.add(path)
    return sorted(found)


def core_path(process):
    if hasattr(process, "GetCoreFile"):  # lldb 17
        path = process.GetCoreFile().fullpath
        if path:
            return path
    paths = mapped_cores()
    if len(paths) != 1:
        raise Wrong("lldb does not say which core file this target is of (%d are open)." % len(paths))
    return paths[0]


def is_core(process):
    return "core" in (process.GetPluginName() or "")


def executable(target):
    path = target.GetExecutable().fullpath
    return path if path and os.path.isfile(path) else None


def check_process(context):
    process = context.process
    if not process or not process.IsValid() or process.GetState() in (lldb.eStateExited, lldb.eStateDetached,
                                                                     lldb.eStateInvalid, lldb.eStateUnloaded):
        raise Wrong("there is no process and no core file.")
    if process.GetState() not in (lldb.eStateStopped, lldb.eStateCrashed, lldb.eStateSuspended):
        raise Wrong("the process is running; interrupt it first.")
    return process


def read_siginfo(thread):
    if thread.GetStopReason() not in (lldb.eStopReasonSignal, lldb.eStopReasonException):
        return None
    number = thread.GetStopReasonDataAtIndex(0) if thread.GetStopReasonDataCount() else 0
    return number if number in DEADLY_SIGNALS else None


def host_thread(thread):
    frame = thread.GetFrameAtIndex(0)
    registers = []
    for name in psc.REGISTERS:
        value = frame.FindRegister(name)
        if not value.IsValid():
            raise Wrong("this is not a process of x86-64; only that is handled.")
        registers.append(value.GetValueAsUnsigned())
    base = frame.FindRegister("fs_base")  # lldb 14 has none: then the library looks for it
    return psc.Thread(thread.GetThreadID(), registers, base.GetValueAsUnsigned() if base.IsValid() else 0,
                      name=thread.GetName())


def make_host(process, target):
    if target.GetPlatform().GetName() != "host":
        raise Wrong("only processes on this machine and core files are handled.")
    pid = process.GetProcessID()
    threads, signal = [], psc.Signal()
    for thread in process:
        one = host_thread(thread)
        number = read_siginfo(thread)
        if number and not signal.number:
            signal = psc.Signal(number)
            one.crashed = True
        threads.append(one)

    def read(address, size):
        error = lldb.SBError()
        data = process.ReadMemory(address, size, error)
        return data if error.Success() else b""

    try:
        with open("/proc/%d/maps" % pid, "rb") as file:
            mappings = psc.parse_maps(os.fsdecode(file.read()))
        with open("/proc/%d/auxv" % pid, "rb") as file:
            auxv = file.read()
    except OSError as reason:
        raise Wrong("the process cannot be read: %s." % reason) from None
    return psc.Host(pid, mappings, threads, read=read, memory_path="/proc/%d/mem" % pid, auxv=auxv, signal=signal)


def setting(debugger, name):
    values = lldb.SBDebugger.GetInternalVariableValue(name, debugger.GetInstanceName())
    return [values.GetStringAtIndex(i) for i in range(values.GetSize())]


def places(debugger):
    maps = [re.match(r'^\[\d+\] "(.*)" -> "(.*)"$', line) for line in setting(debugger, "target.source-map")]
    return psc.Places(library_directories=setting(debugger, "target.exec-search-paths"),
                      source_maps=["%s=%s" % one.groups() for one in maps if one])


def open_target(debugger, context):
    process, target = check_process(context), context.target
    if is_core(process):
        return psc.open_core(core_path(process), executable(target), places(debugger))
    return psc.open_host(make_host(process, target), executable(target), places(debugger))


def selected_thread(context):
    check_process(context)
    thread = context.thread
    if not thread or not thread.IsValid():
        thread = context.process.GetSelectedThread()
    if not thread or not thread.IsValid():
        raise Wrong("no thread is selected.")
    return thread


# ---- where the user is ----

class Position:
    def __init__(self, stack):
        self.stack, self.number, self.place = stack, None, None


positions = {}  # of one stop: what is known of others goes


def get_position(debugger, context):
    thread, process = selected_thread(context), context.process
    key = (process.GetUniqueID(), process.GetStopID(), thread.GetThreadID())
    if key not in positions:
        with open_target(debugger, context) as target, target.capture(thread=thread.GetThreadID()) as trace:
            position = Position(frames.Stack(trace))
        for old in [one for one in positions if one[:2] != key[:2]]:
            del positions[old]
        positions[key] = position
    position = positions[key]
    if not position.stack.numbered:
        raise Wrong("the merged stack of this thread has no frames.")
    return position


def frame_place(frame):
    return frame.GetPC(), frame.GetSP()


def current_number(position, context):
    frame = selected_thread(context).GetSelectedFrame()
    if position.number is not None and position.place == (frame.GetFrameID(),) + frame_place(frame):
        return position.number
    if frame.GetFrameID() == 0:
        return 0
    index = position.stack.place_of(*frame_place(frame))
    return 0 if index is None else position.stack.number_at(index)


def go_to(position, context, number, result):
    frame = position.stack.numbered[number]
    thread = selected_thread(context)
    result.AppendMessage(frame.text.rstrip("\n"))
    if frame.is_native:
        same = [one for one in thread if frame_place(one) == (frame.pc, frame.sp)]
        if same:
            thread.SetSelectedFrame(same[max(len(same) - 1 - position.stack.inline_depth(frame), 0)].GetFrameID())
        else:
            result.AppendWarning("lldb does not have this frame; its selected frame stays.")
    selected = thread.GetSelectedFrame()
    position.number = number
    position.place = (selected.GetFrameID(),) + frame_place(selected)


def parse_number(words, otherwise):
    if len(words) > 1 or (words and not re.match(r"\d+$", words[0])):
        raise Wrong("one number is wanted.")
    return int(words[0]) if words else otherwise


# ---- commands ----

def backtrace(debugger, context, words, result):
    options = [word for word in words if word.startswith("-")]
    named = [word for word in words if not word.startswith("-")]
    for option in options:
        if option not in ("--all", "--json"):
            raise Wrong("unknown option %s; the options are --all and --json." % option)
    process = check_process(context)
    if named == ["all"]:
        chosen = {}
    elif named:
        chosen = {"threads": [parse_thread(process, word) for word in named]}
    else:
        chosen = {"thread": selected_thread(context).GetThreadID()}
    show_all, as_json = "--all" in options, "--json" in options
    with open_target(debugger, context) as target, \
            target.capture(show_all=show_all, all_modules=as_json, **chosen) as trace:
        for warning in trace.warnings():
            result.AppendWarning(warning)
        text = trace.json_text(show_all) if as_json else trace.text(show_all, color=debugger.GetUseColor())
    result.AppendMessage(text.rstrip("\n"))


def parse_thread(process, word):
    number = parse_number([word], 0)
    for thread in (process.GetThreadByIndexID(number), process.GetThreadByID(number)):
        if thread.IsValid():
            return thread.GetThreadID()
    raise Wrong("unknown thread %s." % word)


def move(step):
    def run(debugger, context, words, result):
        position = get_position(debugger, context)
        number, last = current_number(position, context), len(position.stack.numbered) - 1
        wanted = number + step * parse_number(words, 1)
        if wanted < 0 and number == 0:
            raise Wrong("this is the innermost merged frame; you cannot go down.")
        if wanted > last and number == last:
            raise Wrong("this is the outermost merged frame; you cannot go up.")
        go_to(position, context, min(max(wanted, 0), last), result)
    return run


def select(debugger, context, words, result):
    position = get_position(debugger, context)
    number = parse_number(words, current_number(position, context))
    if number >= len(position.stack.numbered):
        raise Wrong("no merged frame at level %d; there are %d." % (number, len(position.stack.numbered)))
    go_to(position, context, number, result)


def list_source(debugger, context, words, result):
    position = get_position(debugger, context)
    number = current_number(position, context)
    record = position.stack.numbered[number].record
    if not record["file"]:
        raise Wrong("no source file is known for merged frame %d." % number)
    path = frames.find_source(record["file"], places(debugger))
    if path is None:
        raise Wrong("%s is not here; the setting target.source-map can say where it is."
                    % frames.escape(record["file"]))
    first = max(parse_number(words, record["line"] or 1) - 5, 1)
    result.AppendMessage("".join(frames.source_lines(path, first, first + 9, record["line"])).rstrip("\n"))


COMMANDS = {
    "py-bt-merged": (backtrace, """Print the merged stack of Python, Cython and native frames.
Usage: py-bt-merged [all|THREAD...] [--all] [--json]

Without a thread, prints that of the selected one.  --all shows also the interpreter's machinery,
marked; --json prints one JSON object.

Example: py-bt-merged all"""),
    "py-up-merged": (move(1), """Select and print the merged frame that called this one.
Usage: py-up-merged [COUNT]

On native and Cython frames lldb's own selected frame follows.

Example: py-up-merged 3"""),
    "py-down-merged": (move(-1), """Select and print the merged frame that this one called.
Usage: py-down-merged [COUNT]

Example: py-down-merged"""),
    "py-frame-merged": (select, """Select and print a merged frame by its number in py-bt-merged.
Usage: py-frame-merged [NUMBER]

Example: py-frame-merged 7"""),
    "py-list-merged": (list_source, """List ten source lines around the line of the selected merged frame.
Usage: py-list-merged [LINE]

Example: py-list-merged 120"""),
}


class Command:
    """One of COMMANDS, as lldb wants it."""
    name = None

    def __init__(self, debugger, _dictionary):
        pass

    def get_short_help(self):
        return COMMANDS[self.name][1].split("\n", 1)[0]

    def get_long_help(self):
        return COMMANDS[self.name][1] + "\n"

    def __call__(self, debugger, command, context, result):
        if not context.target.IsValid():  # called from a script
            context = lldb.SBExecutionContext(debugger.GetSelectedTarget().GetProcess())
        try:
            COMMANDS[self.name][0](debugger, context, shlex.split(command), result)
        except (Wrong, psc.Failed, psc.LibraryUnusable, ValueError) as reason:
            result.SetError("%s: %s" % (self.name, reason))


def __lldb_init_module(debugger, _dictionary):
    for name in COMMANDS:
        kind = "Command_" + name.replace("-", "_")
        globals()[kind] = type(kind, (Command,), {"name": name})
        debugger.HandleCommand("command script add -c %s.%s %s" % (__name__, kind, name))
