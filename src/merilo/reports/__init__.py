"""The baseline folder, the report, plots."""
