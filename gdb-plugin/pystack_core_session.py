"""Where the user is in the merged stack, and what is known of the stop; for gdb and lldb alike.

The commands (pystack_core_commands.py) work on a Session, which holds the debugger itself:

    name                      "gdb"
    help                      words for the help texts, see the debuggers' own
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
    inline_depth(frame)       how many calls further out it is inlined into
    name_of(frame)            its function, or None
    is_newest(frame)
    select(stack, frame)      selects the debugger's own frame for a native one of ours; false: it has none
    use_color(), list_size(), source_folders()
    number(word)              of a command's argument
    set_last(address)         what the debugger calls the last address that was shown, where it does
    write(text), warn(sentence)
    show_locals()             the debugger's own locals of its selected frame
"""
import pystack_core_frames as frames
import pystack_core_library as psc
import pystack_core_program as program


class Wrong(Exception):
    """One sentence for the user."""


# ---- where the user is ----

# What the selected frame of the debugger is to the merged frame that is taken for it.
SAME, RUNS_IT, HIDDEN, UNKNOWN = range(4)


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
        return self.place(position)[0]

    def place(self, position):
        """(number, what the debugger's own frame is to it): SAME, RUNS_IT, HIDDEN or UNKNOWN."""
        debugger, frame = self.debugger, self.debugger.frame()
        if position.number is not None and frame == position.frame:
            return position.number, SAME
        if frame is None:
            return 0, SAME
        stack = position.stack
        index = stack.index_of(*debugger.pc_and_sp(frame), inline_depth=debugger.inline_depth(frame))
        newest = debugger.is_newest(frame)
        if index is None:
            return 0, SAME if newest else UNKNOWN
        relation = HIDDEN if stack.records[index]["hidden"] else SAME
        if relation == HIDDEN and stack.runs_python(index):
            relation = SAME if newest else RUNS_IT
        return 0 if newest else stack.number_at(index), relation

    def own_number(self, position):
        """As number(), for what is told of that frame alone: what another frame tells is said to be its."""
        number, relation = self.place(position)
        debugger = self.debugger
        if relation == SAME:
            return number
        name = frames.escape(debugger.name_of(debugger.frame()) or "??")
        numbered = position.stack.numbered[number]
        if relation == UNKNOWN:
            raise Wrong("The merged stack does not have the selected frame of %s, %s; py-frame-merged selects one "
                        "that it has." % (debugger.name, name))
        if relation == HIDDEN and not debugger.is_newest(debugger.frame()):
            raise Wrong("The selected frame of %s, %s, is the interpreter's machinery, of which nothing is known here; "
                        "the next merged frame further out is %d: py-frame-merged %d."
                        % (debugger.name, name, number, number))
        debugger.write("Merged frame %d, %s, which %s %s:\n"
                       % (number, frames.escape(numbered.record["function"] or "??"), name,
                          "runs" if relation == RUNS_IT else "works for"))
        return number

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
