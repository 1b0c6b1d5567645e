"""The quality of the dataset: gold answers that are probably wrong, and wrong answers that are typing errors."""
