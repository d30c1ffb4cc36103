"""gdb commands for merged Python, Cython and native stacks: source this file.

The stacks come from libpystack_core: of a core file it opens the file itself, of a process under gdb
it reads memory and gdb gives registers and mappings. Needs gdb 12 or later.
"""


def _pystack_core_load():
    # All sourced files share one namespace, with CPython's own python-gdb.py too: nothing is left in it.
    import os
    import sys
    # __file__ is another's when a Python script sources this one.
    here = _pystack_core_load.__code__.co_filename  # noqa: F821 (deleted only at the end)
    sys.path.insert(0, os.path.dirname(os.path.abspath(here)))
    try:
        import pystack_core_gdb_commands
    finally:
        del sys.path[0]
    pystack_core_gdb_commands.register()


_pystack_core_load()
del _pystack_core_load
