"""Intervals, resampling, tests and power; and the types of arrays that functions take and return."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
