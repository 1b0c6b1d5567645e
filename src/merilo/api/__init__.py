"""Functions and result classes of the library, exported by `merilo`."""
