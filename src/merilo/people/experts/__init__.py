"""Expert tests: sampling questions, answering out of bag, planning, and experts beside people without training."""
