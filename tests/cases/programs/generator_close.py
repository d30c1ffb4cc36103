# gen.close(): dies while GeneratorExit is handled, two delegating generators deep.
import witness

outer = []


def leaf():
    try:
        yield 1
    finally:
        finish()


def finish():
    witness.die(deep=True, outer=outer)


def middle():
    yield from leaf()


def top():
    yield from middle()


def main():
    generator = top()
    next(generator)
    outer.extend(witness.stack_here()), generator.close()


main()
