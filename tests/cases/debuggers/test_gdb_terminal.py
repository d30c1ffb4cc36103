"""gdb under a terminal: completion, paging, colours, interrupts."""
import os
import re

import cores
import debuggers
import interpreters


def terminal(core, **env):
    debuggers.need(debuggers.GDB)
    # What newer ones say at their start is more than a screen.
    command = [debuggers.GDB, *debuggers.QUIET, "-q", "-iex", "set pagination off", "-iex", "source " + debuggers.GDB_SCRIPT,
               core.interpreter.path, core.path]
    return debuggers.Terminal(command, debuggers.environment(**{"TERM": "xterm", **env}))


def test_completion_and_paging():
    with terminal(debuggers.some_core("threads")) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-bt-m\t")
        gdb.expect("py-bt-merged ")
        gdb.send("al\t --j\t\x15")
        gdb.expect("all +--json")
        gdb.send("\n")
        gdb.expect(r"\(gdb\) ")
        gdb.send("set pagination on\n")
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-bt-merged all\n")
        gdb.expect("--Type <RET> for more")
        gdb.send("q\n")
        gdb.expect(r"Quit\s+\S*\(gdb\) ")
        gdb.send("print 6*7\n")
        gdb.expect("= 42")


def test_colors_are_gdbs():
    with terminal(debuggers.some_core("threads")) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-why\n")
        red = r"\x1b\[(?:\d+;)*31(?:;\d+)*m"  # gdb 18 writes 1;31 in other words
        assert re.search(red, gdb.expect(r"crashed[^$]*\(gdb\) "))
        gdb.send("with style enabled off -- py-why\n")
        assert not re.search(red, gdb.expect(r"crashed[^$]*\(gdb\) "))


def test_interrupt():
    """Ctrl-C in the middle of a report of twenty thousand frames."""
    one = interpreters.find_wanted()[-1]
    with terminal(cores.make_core("recursion_20000", one)) as gdb:
        gdb.expect(r"\(gdb\) ")
        for _ in range(3):
            gdb.send("py-bt-merged --no-fold\n")
            gdb.expect(r"#100 ")
            os.write(gdb.fd, b"\x03")
            gdb.expect(r"Quit\s[^#]*\(gdb\) ")
        gdb.send("print 6*7\n")
        gdb.expect("= 42")


def test_completion_of_names():
    core = debuggers.some_core("frame_values")
    with terminal(core) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-up-merged 7\n")
        gdb.expect(r"deepest[^$]*\(gdb\) ")
        gdb.send("py-print-merged thing.na\t\n")
        gdb.expect(r"local thing\.name = 'thing'")


def test_width_is_gdbs():
    """Lines that are longer than `set width' count as several for the pager."""
    with terminal(debuggers.some_core("threads")) as gdb:
        for command in ("set style enabled off", "set pagination on", "set height 14"):
            gdb.expect(r"\(gdb\) ")
            gdb.send(command + "\n")
        gdb.expect(r"\(gdb\) ")
        for width, paged in (("unlimited", False), ("20", True)):
            gdb.send("set width %s\n" % width)
            gdb.expect(r"\(gdb\) ")
            gdb.send("py-why\n")
            text = gdb.expect(r"--Type <RET> for more|waits for threading.Condition[^\n]*\n[^\n]*\(gdb\) $")
            assert ("--Type <RET>" in text) == paged
        gdb.send("q\n")
        gdb.expect(r"Quit\s+\S*\(gdb\) ")


def test_interrupt_within_the_library():
    """Reports one after the other, none of them printed: the interrupt comes within a call, as a rule."""
    one = interpreters.find_wanted()[-1]
    with terminal(cores.make_core("recursion_20000", one)) as gdb:
        gdb.expect(r"\(gdb\) ")
        for _ in range(3):
            gdb.send("python print('be' + 'gun'); [gdb.execute('py-bt-merged --no-fold', to_string=True) "
                     "for _ in iter(int, 1)]\n")
            gdb.expect("begun")
            os.write(gdb.fd, b"\x03")
            gdb.expect(r"(Quit|KeyboardInterrupt)[^#]*\(gdb\) ")
        gdb.send("py-why\n")
        gdb.expect("died of SIGSEGV")
