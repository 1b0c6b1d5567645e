"""The quality of annotators: controls, agreement, speed, repetition and drift."""
