"""What the API needs from outside besides the services."""

from collections.abc import Mapping
from typing import Any, Protocol

from understudy.runs.ports import RunUnit
from understudy.skills.ports import SkillUnit


class StoredResponse(Protocol):
    """The answer to a request under an idempotency key; no status while it is under way."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def status(self) -> int | None: ...

    @property
    def body(self) -> Any: ...

    @property
    def created_at_ms(self) -> int: ...


class ResponseStore(Protocol):
    """Answers given under an idempotency key; old ones are swept by the daemon."""

    def get(self, key_hash: str) -> StoredResponse | None:
        """What is known of the request under a key."""
        ...

    def claim(self, key_hash: str, fingerprint: str, now_ms: int) -> StoredResponse | None:
        """Take the key; when somebody has it already, what is known of their request."""
        ...

    def finish(self, key_hash: str, status: int, body: Any) -> None:
        """Keep the answer."""
        ...

    def abandon(self, key_hash: str) -> None:
        """Give the key free: the request came to nothing."""
        ...


class ToolSwitches(Protocol):
    """Which tools an operator switched off."""

    def disabled(self) -> frozenset[str]: ...

    def set(self, name: str, *, enabled: bool) -> None: ...


class ApiUnit(RunUnit, SkillUnit, Protocol):
    """One transaction over what the API itself reads and writes."""

    @property
    def responses(self) -> ResponseStore: ...

    @property
    def tool_switches(self) -> ToolSwitches: ...


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
