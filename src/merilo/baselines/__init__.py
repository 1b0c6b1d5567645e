"""Baselines: computed from responses, with groups, warnings, and comparison with models."""
