"""Asking a model for an object, as those see it who judge and extract."""

from collections.abc import Mapping
from typing import Any, Protocol


class AsksModel(Protocol):
    """A model that answers a payload with an object."""

    async def ask(
        self,
        *,
        route_id: str | None,
        system: str,
        payload: Mapping[str, Any],
        timeout_ms: int,
        generation: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """The object that the model answers, within the time; or what kept it from that, raised."""
        ...
