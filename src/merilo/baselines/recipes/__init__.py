"""Recipes: several questions about one item, and the results computed from all their answers."""
