# gen.throw() through two generators that delegate; the innermost one dies while it handles it.
import sys

import witness

outer = []


def leaf():
    try:
        yield 1
    except KeyError:
        finish()


def finish():
    witness.die(deep=True, outer=outer)


def middle():
    yield from leaf()


def top():
    yield from middle()


def thrower(generator):
    outer.extend(witness.stack_here()), generator.throw(KeyError("thrown in"))


def main():
    generator = top()
    next(generator)
    thrower(generator)


main()
