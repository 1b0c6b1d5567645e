"""Asking people: platforms, controls, quality, aggregation, agreement, cost."""
