"""Annotation by people: platforms, control items, quality, aggregation, agreement, cost."""
