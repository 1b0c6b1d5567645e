"""The scripts and styles of the site: read once, and sent again to a browser only if they changed."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from merilo.site.site_requests import RefusedRequestError

_KINDS: Final = {
    "annotator.css": "text/css; charset=utf-8",
    "annotator.js": "text/javascript; charset=utf-8",
    "author.css": "text/css; charset=utf-8",
    "author.js": "text/javascript; charset=utf-8",
}


def static_file(request: Request, name: str) -> Response:
    """Return a script or style of the site.

    Args:
        request: the request; a browser names in it the version that it has.
        name: the file's name.

    Raises:
        RefusedRequestError: the site has no such file.
    """
    if name not in _KINDS:
        raise RefusedRequestError(404, "not_found")
    content, version = _read(name)
    headers = {"Cache-Control": "public, max-age=300", "ETag": version}
    if version in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_KINDS[name], headers=headers)


@cache  # at most the files of `_KINDS`
def _read(name: str) -> tuple[bytes, str]:
    content = (files("merilo.site") / "static" / name).read_bytes()
    return content, f'"{sha256(content).hexdigest()[:16]}"'
