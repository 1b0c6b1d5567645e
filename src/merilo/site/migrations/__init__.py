"""Migrations of the site's tables, run by Alembic."""
