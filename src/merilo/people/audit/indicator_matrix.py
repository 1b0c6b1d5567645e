"""Sparse indicator matrices, used for sums over annotators, items and cells."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from merilo.statistics.arrays import FloatArray

#: From this many ones on, SciPy's sparse product (ten times as fast) is worth the time to import SciPy.
MANY = 10_000


class Incidence(Protocol):
    """A matrix of zeros and ones that can be multiplied by dense arrays."""

    @property
    def T(self) -> Incidence:  # noqa: N802 - as in NumPy
        """The transposed matrix."""
        ...

    def __matmul__(self, dense: FloatArray, /) -> FloatArray: ...


class Ones:
    """An indicator matrix implemented in NumPy.

    Args:
        row: shape (n,), the rows of the ones.
        column: shape (n,), their columns; a repeated pair counts twice.
        shape: rows and columns.

    Example:
        >>> matrix = Ones(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))
        >>> (matrix @ np.array([[1.0], [10.0]])).tolist(), (matrix.T @ np.array([[1.0], [10.0]])).tolist()
        ([[11.0], [10.0]], [[1.0], [11.0]])
    """

    __slots__ = ("column", "row", "shape")

    def __init__(self, row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int]) -> None:
        self.row, self.column, self.shape = row, column, shape

    @property
    def T(self) -> Ones:  # noqa: N802 - as in NumPy
        """The transposed matrix."""
        return Ones(self.column, self.row, self.shape[::-1])

    def __matmul__(self, dense: FloatArray, /) -> FloatArray:
        """Compute the product, shape (rows,) or (rows, k)."""
        if dense.ndim == 1:
            return np.bincount(self.row, dense[self.column], self.shape[0]).astype(np.float64)
        sums = np.empty((self.shape[0], dense.shape[1]))
        for k in range(dense.shape[1]):
            sums[:, k] = np.bincount(self.row, dense[self.column, k], self.shape[0])
        return sums


def incidence(row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int]) -> Incidence:
    """Build the matrix with ones at these positions, as a SciPy array if there are many."""
    if row.size < MANY:
        return Ones(row, column, shape)
    # `scipy.sparse` is imported on first use, so that small studies do not spend time on the import.
    matrix: Incidence = scipy.sparse.csr_array((np.ones(row.size), (row, column)), shape=shape)
    return matrix
