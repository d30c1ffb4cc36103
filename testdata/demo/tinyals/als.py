"""Alternating least squares, as small as it can be."""
from tinyals import _als


class AlternatingLeastSquares:
    def __init__(self, factors, iterations=3):
        self.factors = factors
        self.iterations = iterations
        self.callbacks = []
        self.workspace = bytearray(8 * factors)

    def fit(self, ratings):
        for _ in range(self.iterations):
            self._half_step(ratings)
        return self

    def _half_step(self, ratings):
        return _als.least_squares(ratings, self.factors, lambda row: self._row_done(row))

    def _row_done(self, row):
        for callback in self.callbacks:
            callback(row)

    def rescale(self, row, *, factor):
        return _als.Workspace(self.workspace).scale(factor, row)
