"""Recipes: several questions about one item, and what follows from their answers together."""
