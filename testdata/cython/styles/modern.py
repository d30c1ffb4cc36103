"""What Cython knows of Python since 3.0."""
FORMS = []


def form(function):
    FORMS.append(function)
    return function


@form
def walrus(cb):
    if (n := cb()) > 3:
        return n


@form
def walrus_while(cb):
    while (line := cb()) is not None:
        print(line)


@form
def walrus_comprehension(cb):
    return [y for x in range(3) if (y := cb())]


def _only(a, b, /, c, *, cb):
    return a, b, c, cb()


@form
def positional_only(cb):
    return _only(1, 2, 3, cb=cb)


def annotated(cb: object, n: int = 3) -> int:
    total: int = 0
    for i in range(n):
        total += cb()
    return total


FORMS.append(annotated)


@form
def closed_over(cb):
    class Holder:
        def __init__(self, f):
            self.f = f

        def __enter__(self):
            return self.f

        def __exit__(self, *a):
            return None

    with (Holder(cb)) as g:
        return g()


class Größe:
    def länge(self, cb):
        return cb()


@form
def nicht_ascii(cb):
    return Größe().länge(cb)


@form
def übergröße(cb):
    wert = cb()
    return wert


@form
def generator_return(cb):
    def g():
        x = yield 1
        return cb()
    it = g()
    next(it)
    try:
        next(it)
    except StopIteration:
        pass


@form
def except_star_like(cb):
    try:
        raise KeyError(1)
    except (KeyError, ValueError) as e:
        try:
            pass
        finally:
            cb()
