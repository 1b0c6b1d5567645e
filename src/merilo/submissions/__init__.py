"""Packing and scoring submission archives."""
