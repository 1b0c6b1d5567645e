"""How sure: intervals, resampling, tests, power. Knows nothing of answers, metrics or people."""
