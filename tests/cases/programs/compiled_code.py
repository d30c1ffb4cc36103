# Code that is in no file: exec, eval, compile with a name of its own, and a lambda in it.
import witness

source = """
def dies(value):
    witness.die()

run = lambda value: dies(value)
class Holder:
    made = eval("run(1)")
"""


def main():
    scope = {"witness": witness}
    exec(compile(source, "<made up>", "exec"), scope)


eval("main()")
