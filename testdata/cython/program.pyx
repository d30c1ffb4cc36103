# A program of its own (cython --embed): the marks as in kern.pyx.
import os


cdef int deep(object callback) except -1:
    callback()  #@ deep
    return 1


class Worker:
    def work(self):
        return deep(finish)  #@ Worker.work


def finish():
    os.abort()  #@ finish


def run():
    Worker().work()  #@ run


if __name__ == "__main__":
    run()  #@ <module>
