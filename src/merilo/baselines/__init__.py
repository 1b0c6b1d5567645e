"""Baselines: computed from responses, with groups, warnings, comparison with models, and recipes."""
