"""Alternating least squares of implicit, a library in Cython over BLAS and OpenMP: als.py [ITERATIONS]."""
import sys

import numpy
import scipy.sparse
from implicit.als import AlternatingLeastSquares

USERS, ITEMS, EACH = 60_000, 20_000, 50


def main():
    random = numpy.random.default_rng(1)
    rows = numpy.repeat(numpy.arange(USERS), EACH)
    columns = random.integers(0, ITEMS, USERS * EACH)
    counts = random.random(USERS * EACH, dtype=numpy.float32)
    plays = scipy.sparse.csr_matrix((counts, (rows, columns)), shape=(USERS, ITEMS))
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    model = AlternatingLeastSquares(factors=64, iterations=iterations, num_threads=2, random_state=1)
    model.fit(plays, show_progress=False)


if __name__ == "__main__":
    main()
