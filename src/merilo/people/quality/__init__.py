"""The quality of people: controls, agreement, speed, repetition, drift, and how much the figure hangs on them."""
