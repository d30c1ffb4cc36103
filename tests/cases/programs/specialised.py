# Calls that the interpreter specialises (and inlines) after some rounds: __init__, property, __getitem__.
import witness


class Box:
    def __init__(self, last):
        self.last = last
        self.value

    @property
    def value(self):
        return self[0]

    def __getitem__(self, index):
        return self.plus + index

    def __getattr__(self, name):
        return Number(self.last)


class Number:
    def __init__(self, last):
        self.last = last

    def __add__(self, other):
        return compare(self, other)

    def __lt__(self, other):
        if self.last:
            witness.die(deep=True)
        return True


def compare(left, right):
    return 1 if left < right else 0


def main():
    for round in range(100):
        Box(round == 99)


main()
