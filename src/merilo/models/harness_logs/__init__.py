"""Answers in the logs of other harnesses."""
