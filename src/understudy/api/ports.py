"""What the API needs from outside besides the services."""

from collections.abc import Mapping
from typing import Any, Protocol


class ToolRegistry(Protocol):
    """The tools there are."""

    def describe(self) -> list[dict[str, object]]: ...


class Metrics(Protocol):
    """Counters for Prometheus."""

    def http_answered(self, method: str, *, status: int) -> None: ...

    def render(self) -> bytes: ...


class Status(Protocol):
    """What the daemon is and does, as a JSON object with at least `status` and `ready`."""

    def __call__(self, *, in_full: bool = False) -> Mapping[str, Any]:
        """`in_full` is for admins: it tells of folders of the machine."""
        ...


class Readiness(Protocol):
    """None when ready, else why not: `starting` or `draining`."""

    def __call__(self) -> str | None: ...
