"""Expert studies: sampling questions, the out-of-bag protocol, planning, and comparison with untrained annotators."""
