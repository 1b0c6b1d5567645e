"""Short ways to ask a backend in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from merilo.models.asking import ChatMessage, ModelReply, Request
from merilo.models.backends import open_backend


def request(text: str, **fields: Any) -> Request:
    """A request of one user's message."""
    messages = fields.pop("messages", (ChatMessage("user", (text,)),))
    known = {"dataset": "bps", "item": 1, "sample": 1, "prompt": text}
    return Request(messages=messages, **(known | fields))


def ask(
    name: str,
    arguments: dict[str, str],
    requests: Sequence[Request] = (),
    *,
    media_folder: Path | None = None,
) -> list[ModelReply]:
    """Open a backend, ask it, and close it; without requests it is asked one."""

    async def run() -> list[ModelReply]:
        backend = open_backend(name, arguments, media={"bps": media_folder} if media_folder else {})
        try:
            return list(await backend.ask(requests or [request("Is it so?")]))
        finally:
            await backend.close()

    return asyncio.run(run())
