"""The functions and results of the library, which `merilo` offers by their names."""
