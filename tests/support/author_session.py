"""Signing in to the author's pages."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from merilo.site.serving import set_site_password

PASSWORD = "correct horse battery"


def form_token(page: str) -> str:
    """The token of a page's forms."""
    found = re.search(r'name="token" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


def signed_in(client: httpx.Client, study: Path) -> None:
    """Set the password and sign in; `client` keeps the session."""
    set_site_password(study, PASSWORD)
    sent = {"token": form_token(client.get("/author/").text), "password": PASSWORD, "next": "/author/"}
    answer = client.post("/author/sign-in", data=sent)
    assert answer.status_code in {200, 303}, answer.text
