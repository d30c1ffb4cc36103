# Arrays and scalars of numpy in the frame that dies.
import sys

import witness

import numpy


def holds():
    matrix = numpy.arange(6, dtype=numpy.float64).reshape(2, 3)
    turned = matrix.T
    backwards = numpy.arange(5)[::-1]
    big_endian = numpy.array([1, -2, 3], dtype=">i4")
    objects = numpy.array(["x", None, 3], dtype=object)
    many = numpy.zeros((1000,), dtype=numpy.uint8)
    single = numpy.array(5)
    empty = numpy.zeros((0, 3))
    complexes = numpy.array([1 + 2j, 3 - 4j], dtype=numpy.complex64)
    halves = numpy.array([1.5, -2], dtype=numpy.float16)
    strings = numpy.array(["ab", "c"])
    scalars = [numpy.float64(1.5), numpy.float32(0.1), numpy.int64(-5), numpy.uint8(200),
               numpy.complex128(1 - 2j)]
    witness.promise(default=str(backwards.dtype), scalars=repr(scalars))
    witness.die()


holds()
