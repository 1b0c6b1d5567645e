"""The annotation site: people answer a frozen study in their browsers. Importing it needs the extra `site`."""

from __future__ import annotations

from merilo.errors import MissingPartError


def require_site() -> None:
    """Check that the extra `site` is installed.

    Raises:
        MissingPartError: it is not.
    """
    try:
        import fastapi  # noqa: F401, PLC0415
        import itsdangerous  # noqa: F401, PLC0415
        import sqlalchemy  # noqa: F401, PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ModuleNotFoundError:
        raise MissingPartError(
            "the annotation site needs the extra 'site': pip install 'merilo[site]'"
        ) from None


require_site()
