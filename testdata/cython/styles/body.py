"""A module whose own code is under way."""
import sys


def helper(f):
    return f()


class Table:
    rows = [1, 2]
    columns = helper(sys.psc_callback)

    def method(self):
        return self.rows
