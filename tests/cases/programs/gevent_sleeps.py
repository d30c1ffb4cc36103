# gevent's greenlets, asleep; one of them dies.
import gevent

import witness


def sleeps():
    gevent.sleep(600)


def deeper():
    sleeps()


def dies():
    gevent.sleep(0.1)
    witness.die()


gevent.joinall([gevent.spawn(function) for function in (sleeps, sleeps, sleeps, deeper, dies)])
