# Python calls kern.fit, which calls Python back, which calls kern.finish: that one dies.
import kern


def callback(value):
    return kern.finish(value)


def main():
    kern.fit(callback)


main()
