"""What the backends of one server share: requests are sent one by one, through one client."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from merilo.models.asking import ModelReply, Request

if TYPE_CHECKING:
    from merilo.models.backends.vendor_clients import ServerSettings, VendorClient


class ServerBackend(ABC):
    """A backend whose requests go to one server, one in a call.

    Subclasses set `_server` and `_client`, and answer one request.
    """

    _server: ServerSettings
    _client: VendorClient

    @property
    def model(self) -> str:
        """The model's name as it was asked for."""
        return self._server.model

    @property
    def batch_size(self) -> int:
        """One request at a time."""
        return 1

    @property
    def concurrency(self) -> int:
        """Requests at the same time."""
        return self._server.concurrency

    async def ask(self, requests: Sequence[Request]) -> Sequence[ModelReply]:
        """Answer requests, in their order.

        Raises:
            BackendError: what ends the run.
        """
        if len(requests) == 1:
            return [await self._ask(requests[0])]  # the usual call: no task is needed
        return await asyncio.gather(*(self._ask(request) for request in requests))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    @abstractmethod
    async def _ask(self, request: Request) -> ModelReply:
        """Answer one request."""
