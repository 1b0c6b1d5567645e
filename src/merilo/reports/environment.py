"""The Jinja environment of all report pages."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from merilo.reports.charts import number


def page_environment() -> Environment:
    """Return the environment: templates of this package, every value escaped, an unknown name is an error."""
    environment = Environment(
        loader=PackageLoader("merilo.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment
