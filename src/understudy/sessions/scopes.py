"""The capability and credential scopes of a session: the persona's, narrowed by its own."""

from collections.abc import Callable, Iterable, Mapping

from understudy.core.errors import FieldError, coded_error
from understudy.core.scope import CAPABILITY_KINDS, CREDENTIAL_KINDS, Gate, Scope
from understudy.core.text import quoted
from understudy.sessions.model import Session

Flat = Mapping[str, list[str]]

# Routes, but no connectors and no MCP servers with credentials.
ROUTES_ONLY = Scope(
    gates={kind: Gate(allow=()) for kind in ("connector", "connector_credential", "mcp_server")}
)


def read_capability_scope(flat: Mapping[str, object]) -> Scope:
    """A capability scope from its flat form; `Invalid` names unknown keys and wrong types."""
    return Scope.from_json(_checked(flat, CAPABILITY_KINDS, "capability_scope"), CAPABILITY_KINDS)


def read_credential_scope(flat: Mapping[str, object]) -> Scope:
    """A credential scope from its flat form; `Invalid` names unknown keys and wrong types."""
    return Scope.from_json(_checked(flat, CREDENTIAL_KINDS, "credential_scope"), CREDENTIAL_KINDS)


def effective_capability_scope(session: Session) -> Scope | None:
    """Persona ∩ session, or None where neither sets a scope. Disjoint lists permit nothing."""
    parts = []
    if session.persona is not None and session.persona.capability_scope:
        parts.append(read_capability_scope(session.persona.capability_scope))
    if session.capability_scope is not None:
        parts.append(read_capability_scope(session.capability_scope))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else parts[0].narrowed_by(parts[1])


def effective_credential_scope(session: Session) -> Scope | None:
    """The credential scope in force, or None where the session sets none."""
    if session.credential_scope is None:
        return None
    return read_credential_scope(session.credential_scope)


def changed_scope(
    session: Session, had: Flat | None, asked: Scope | None, read: Callable[[Flat], Scope]
) -> Flat | None:
    """The new scope of a session.

    That of a sidechain or a trial can only be narrowed.
    """
    if session.parent_session_id is None and session.trial_id is None:
        return None if asked is None else asked.to_json()
    if asked is None and had is not None:
        what = "a trial" if session.parent_session_id is None else "a sidechain"
        raise coded_error("sessions/sidechain_scope_kept", what=what)
    return None if asked is None else read(had or {}).narrowed_by(asked).to_json()


def _checked(flat: Mapping[str, object], kinds: Iterable[str], field: str) -> Flat:
    known = [f"{kind}_{side}" for kind in kinds for side in ("allow", "deny")]
    errors = []
    lists: dict[str, list[str]] = {}
    for key, value in flat.items():
        pointer = f"/{field}/{key}"
        if key not in known:
            errors.append(
                FieldError(
                    pointer=pointer,
                    code="unknown_field",
                    detail=f"there is no list {quoted(key)}; the lists are: {', '.join(known)}",
                )
            )
        elif not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            errors.append(
                FieldError(
                    pointer=pointer, code="wrong_type", detail=f"{key} must be a list of names"
                )
            )
        else:
            lists[key] = list(value)
    if errors:
        raise coded_error(
            "sessions/invalid_scope", errors=tuple(errors), field=field, problem=errors[0].detail
        )
    return lists
