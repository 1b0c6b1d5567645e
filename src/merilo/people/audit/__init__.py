"""The quality of the dataset: which golds are probably wrong, and which wrong answers are typing errors."""
