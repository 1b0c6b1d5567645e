"""Runs: one model over one or more datasets, asked, scored and explained."""
