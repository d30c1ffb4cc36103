# Generators: nested yield from, driven by next(), a for loop, list() and a comprehension.
import witness


def leaf(depth):
    yield depth
    if depth == 0:
        witness.die()
    yield from middle(depth - 1)


def middle(depth):
    yield from leaf(depth)


def by_next(depth):
    generator = middle(depth)
    while True:
        yield next(generator)


def by_for(depth):
    for value in by_next(depth):
        yield value


def by_comprehension(depth):
    return [value for value in by_for(depth)]


def by_expression(depth):
    return sum(len(by_comprehension(value)) for value in [depth])


list(by_for(0) if False else [by_expression(3)])
