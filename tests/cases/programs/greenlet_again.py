# A greenlet that is switched to a second time, from deeper C and Python code than at first.
import greenlet

import witness


def dies():
    witness.die()


def again():
    greenlet.getcurrent().parent.switch()
    dies()


def inner(item):
    one.switch()


def switches_again():
    list(map(inner, [1]))


def starts():
    one.switch()
    switches_again()


one = greenlet.greenlet(again)
starts()
