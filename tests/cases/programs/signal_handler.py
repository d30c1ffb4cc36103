# A Python signal handler (SIGALRM), run between two bytecodes of a busy loop, dies.
import signal

import witness

ready = []


def handler(number, frame):
    witness.die()


def main():
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    while True: pass  # one line: the handler may come at any instruction


main()
