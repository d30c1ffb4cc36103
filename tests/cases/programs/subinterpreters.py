# Interpreters inside one another on the thread that dies, another one that does nothing.
import sys

import witness

HELPERS = '''
def new():
    try:
        import _interpreters as module
    except ImportError:
        import _xxsubinterpreters as module
    return module, module.create()


def run(module, number, source):
    (module.run_string if hasattr(module, "run_string") else module.exec)(number, source)


'''
INNER = '''
import os


def inside():
    value = "inner"
    os.abort()


inside()
'''
MIDDLE = HELPERS + '''
def between():
    value = "middle"
    module, number = new()
    run(module, number, INNER)


INNER = {!r}
between()
'''.format(INNER)

exec(HELPERS)


def outermost():
    value = "outer"
    module, idle = new()
    module, number = new()
    witness.testify()
    run(module, number, MIDDLE)


outermost()
