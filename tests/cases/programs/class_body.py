# Class bodies, a metaclass, a decorator, *args and **kw: each starts an evaluator of its own.
import functools

import witness


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kw):
        return function(*args, **kw)
    return wrapper


class Meta(type):
    def __new__(cls, *args, **kw):
        made = super().__new__(cls, *args, **kw)
        made.ready(*("one", "two"), **{"three": 3})
        return made


class Base(metaclass=type):
    @classmethod
    @decorated
    def ready(cls, *args, three=None):
        class Inner(Base):
            value = cls.dies()

    @staticmethod
    def dies():
        witness.die()


def main():
    class Outer(Base, metaclass=Meta):
        pass


main()
