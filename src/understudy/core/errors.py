"""The errors of the domain, by who must act.

UnderstudyError              code, domain, params; no HTTP status
├── NotFound                 absent, or the caller may not know it exists
├── Conflict                 the state of the thing does not allow it
│   ├── InvalidTransition    not a step of the state machine
│   └── StaleVersion         somebody else changed it first
├── Rejected                 policy, role or guard says no
├── Unauthenticated          nobody we know is calling
├── Invalid                  a value is wrong; carries a JSON pointer
│   └── Unsafe               the guard found something in it; carries every finding
├── LimitExceeded            size, budget, rate
└── Unavailable              provider, tool; retrying may help
    ├── DatabaseUnavailable  gone, full or locked: nothing was changed
    └── DamagedRecord        this one cannot be read; the others can
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One wrong value, located by a JSON pointer into the request body."""

    pointer: str
    code: str
    detail: str


class UnderstudyError(Exception):
    """Something went wrong that a person or a client can act on."""

    def __init__(
        self,
        code: str,
        *,
        domain: str = "daemon",
        detail: str = "",
        params: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail or code)
        self.code = code
        self.domain = domain
        self.detail = detail or code.replace("_", " ")
        self.params = dict(params or {})


class NotFound(UnderstudyError):
    """The thing does not exist, or the caller may not know that it does."""


class Conflict(UnderstudyError):
    """The thing is in a state that does not allow this."""


class InvalidTransition(Conflict):
    """The state machine has no such step."""


class StaleVersion(Conflict):
    """The caller's copy is older than what is stored."""


class Rejected(UnderstudyError):
    """A rule, a role or a guard forbids this."""


class Unauthenticated(UnderstudyError):
    """The call carries no valid token where one is needed."""


class LimitExceeded(UnderstudyError):
    """A size, budget or rate is used up."""


class Unavailable(UnderstudyError):
    """A provider, tool or database did not answer; trying again may help."""


class DatabaseUnavailable(Unavailable):
    """The database is gone, full or locked; nothing was changed."""


class DamagedRecord(Unavailable):
    """A stored record that cannot be read; the others still can."""


class Invalid(UnderstudyError):
    """One or more values are wrong."""

    def __init__(
        self,
        code: str,
        *,
        domain: str = "daemon",
        detail: str = "",
        pointer: str | None = None,
        errors: tuple[FieldError, ...] = (),
        params: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(code, domain=domain, detail=detail, params=params)
        if pointer is not None and not errors:
            errors = (FieldError(pointer=pointer, code=code, detail=self.detail),)
        self.errors = errors

    def moved(self, move: Callable[[str], str], *, detail: str | None = None) -> Self:
        """The same about values that stand elsewhere: the new pointer of each, by its old one."""
        return type(self)(
            self.code,
            domain=self.domain,
            detail=self.detail if detail is None else detail,
            errors=tuple(replace(each, pointer=move(each.pointer)) for each in self.errors),
            params=self.params,
        )


class Unsafe(Invalid):
    """What was sent holds something that the guard lets nobody keep; each finding is an error."""
