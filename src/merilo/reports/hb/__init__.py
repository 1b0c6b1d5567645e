"""The folder `hb/`: everything that a published human baseline hands in, made from a baseline's folder."""
