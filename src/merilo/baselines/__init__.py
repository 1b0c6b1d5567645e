"""The main job: from responses to a baseline, its groups and warnings, comparison with models, recipes."""
