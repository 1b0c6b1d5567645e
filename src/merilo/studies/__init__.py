"""A study in the making: the plan of a human baseline, and the files that it names."""
