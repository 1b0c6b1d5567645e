"""Metrics: how answers are scored, in the same way for people and models."""
