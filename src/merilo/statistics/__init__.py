"""Confidence intervals, resampling, tests and power analysis. Independent of answers, metrics and annotators."""
