"""One finding of `/v1/status.health`."""

from typing import Any, Literal

Severity = Literal["info", "warning", "error"]


def warning(
    severity: Severity, code: str, message: str, *, related_id: str | None = None, action: str
) -> dict[str, Any]:
    """A finding, and the advice on it."""
    found: dict[str, Any] = {
        "severity": severity,
        "code": code,
        "message": message,
        "action": action,
    }
    if related_id is not None:
        found["related_id"] = related_id
    return found
