"""gdb under a terminal: completion, paging, colours, interrupts."""
import os

import cores
import debuggers
import interpreters


def terminal(core, **env):
    debuggers.need(debuggers.GDB)
    command = [debuggers.GDB, *debuggers.QUIET, "-q", "-iex", "source " + debuggers.GDB_SCRIPT, core.interpreter.path,
               core.path]
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
        gdb.send("py-bt-merged all\n")
        gdb.expect("--Type <RET> for more")
        gdb.send("q\n")
        gdb.expect(r"Quit\s+\S*\(gdb\) ")
        gdb.send("print 6*7\n")
        gdb.expect("= 42")


def test_colors_are_gdbs():
    with terminal(debuggers.some_core("threads")) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("set pagination off\n")
        gdb.expect(r"\(gdb\) ")
        gdb.send("py-why\n")
        assert "\x1b[1;31m" in gdb.expect(r"crashed[^$]*\(gdb\) ")
        gdb.send("with style enabled off -- py-why\n")
        assert "\x1b[1;31m" not in gdb.expect(r"crashed[^$]*\(gdb\) ")


def test_interrupt():
    """Ctrl-C in the middle of a report of twenty thousand frames."""
    one = interpreters.find_wanted()[-1]
    with terminal(cores.make_core("recursion_20000", one)) as gdb:
        gdb.expect(r"\(gdb\) ")
        gdb.send("set pagination off\n")
        gdb.expect(r"\(gdb\) ")
        for _ in range(3):
            gdb.send("py-bt-merged\n")
            gdb.expect(r"#100 ")
            os.write(gdb.fd, b"\x03")
            gdb.expect(r"Quit\s[^#]*\(gdb\) ")
        gdb.send("print 6*7\n")
        gdb.expect("= 42")
