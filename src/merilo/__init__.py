"""Merilo: human baselines for benchmarks.

Ask people and models the same questions, score both with the same code, publish a figure that stands up to review.
"""

from merilo.version import __version__

__all__ = ["__version__"]
