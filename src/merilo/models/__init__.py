"""Asking models: requests made of items, backends that answer them, the log of a run.

And the logs of other harnesses.
"""
