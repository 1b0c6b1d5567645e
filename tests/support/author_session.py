"""The author's link: a browser that has opened it."""

from __future__ import annotations

from pathlib import Path

import httpx

from merilo.site.journal import SECRET, Journal, database_url

#: The tables to download.
TABLES = ("answers.csv", "answers.jsonl", "people.csv", "counts.json", "comments.csv", "log.csv")


def author_link(study: Path) -> str:
    """The path of the author's link of the site that a study is served on."""
    journal = Journal(database_url(study, None))
    secret = journal.settings()[SECRET]
    journal.close()
    return f"/author/{secret}"


def signed_in(client: httpx.Client, study: Path) -> None:
    """Open the author's link; `client` keeps the cookie."""
    assert client.get(author_link(study)).status_code == 200
