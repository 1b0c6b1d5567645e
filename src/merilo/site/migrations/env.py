"""Run the migrations on the connection that `merilo.site.database` opened."""

from __future__ import annotations

from alembic import context

from merilo.site.schema import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
context.run_migrations()
