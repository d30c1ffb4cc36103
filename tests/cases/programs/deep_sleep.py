# Not dead: a hundred frames deep (argument) in Python and in C, asleep.
import time

import witness


def down(depth):
    if depth > 0:
        return max([depth], key=lambda one: down(one - 2))
    witness.testify(), time.sleep(600)


down(int(witness.MORE[0]))
