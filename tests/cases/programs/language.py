# with, contextmanager, comprehensions, lambda, closures, __call__, operators, str.format, __bool__.
import contextlib

import witness


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        witness.die(deep=True)


@contextlib.contextmanager
def managed():
    with Manager():
        yield


class Callable:
    def __call__(self, value):
        with managed():
            return value


class Formats(object):
    def __format__(self, spec):
        return str([call(1) for call in (Callable(),)])

    def __bool__(self):
        return "{:>5}".format(self) == ""
    __nonzero__ = __bool__  # 2.7's name for it

def closure(value):
    def inner():
        return (lambda: {key: not value for key in (1,)})()
    return inner


def main():
    return {closure(item)()[1] for item in [Formats()]}


main()
