"""Uncertainty over items and annotators, and the accuracy of single annotators."""
