"""The version of Merilo. It is not written anywhere else."""

__version__ = "0.2.0"
