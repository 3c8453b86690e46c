"""The domain's exception classes, by who must act, and the table of error codes.

`errors.toml` holds a row for each code: its class, its domain and its message in each language.
`coded_error("sessions/session_busy")` makes the exception. A colon after the code chooses another
sentence for the same code: `coded_error("learnings/filter_required:short_query", least=3)`.

UnderstudyError              code, domain, params; no HTTP status
├── NotFound                 absent, or the caller may not know it exists
├── Conflict                 the state of the thing does not allow it
│   ├── InvalidTransition    not a transition of the state machine
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

import errno
import string
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, ParamSpec, Self, TypeVar

from understudy.core.text import ELLIPSIS, quoted

T = TypeVar("T")
P = ParamSpec("P")

# The section of the table for codes that several domains share.
SHARED: Final = "shared"
MAX_VALUE_CHARS: Final = 2000
# The errors of the operating system for a full disk.
NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


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
        # The row of the error table with its message, and the values of the placeholders.
        self.row = f"{domain}/{code}"
        self.values = self.params


class NotFound(UnderstudyError):
    """The thing does not exist, or the caller may not know that it does."""


class Conflict(UnderstudyError):
    """The thing is in a state that does not allow this."""


class InvalidTransition(Conflict):
    """The state machine has no such transition."""


class StaleVersion(Conflict):
    """The caller's version is older than the stored one."""


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


def undamaged(read: Callable[P, T | None], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What a store answers; None for a record that is missing or damaged."""
    try:
        return read(*args, **kwargs)
    except DamagedRecord:
        return None


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
        """The error with each JSON pointer replaced by `move(pointer)`."""
        moved = type(self)(
            self.code,
            domain=self.domain,
            detail=self.detail if detail is None else detail,
            errors=tuple(replace(each, pointer=move(each.pointer)) for each in self.errors),
            params=self.params,
        )
        moved.row, moved.values = self.row, self.values
        return moved


class Unsafe(Invalid):
    """The content guard refuses what was sent; each finding is one of the errors."""


CLASSES: Final[Mapping[str, type[UnderstudyError]]] = {
    kind.__name__: kind
    for kind in (
        *(NotFound, Conflict, InvalidTransition, StaleVersion, Rejected, Unauthenticated),
        *(Invalid, Unsafe, LimitExceeded, Unavailable, DatabaseUnavailable, DamagedRecord),
        UnderstudyError,
    )
}


def coded_error(
    row: str,
    /,
    *,
    pointer: str | None = None,
    errors: tuple[FieldError, ...] = (),
    detail: str | None = None,
    **values: object,
) -> UnderstudyError:
    """The exception of a row of the table: `domain/code`, or `domain/code:variant`.

    The values fill the words of the row; those that the row lists as `params` are sent to the client
    by name, too. A `detail` replaces the English words where they are known only at run time.
    """
    domain, _, name = row.partition("/")
    code = name.partition(":")[0]
    kind = error_class(row)
    if pointer is not None and not issubclass(kind, Invalid):
        values["pointer"] = pointer
    values = {key: _plain(value) for key, value in values.items()}
    params = {key: values[key] for key in _inherited(row, "params") or () if key in values}
    detail = _Words().vformat(_row(row)["en"], (), values) if detail is None else detail
    if issubclass(kind, Invalid):
        found: UnderstudyError = kind(
            code, domain=domain, detail=detail, pointer=pointer, errors=errors, params=params
        )
    else:
        found = kind(code, domain=domain, detail=detail, params=params)
    found.row, found.values = row, values
    return found


def error_class(row: str) -> type[UnderstudyError]:
    """The exception class of a row; a variant without one inherits that of its code."""
    return CLASSES[_inherited(row, "class")]


def words_in(language: str, row: str, values: Mapping[str, object]) -> str | None:
    """The message of a row in a language; None without a row, translation or placeholder value."""
    try:
        return _Words().vformat(_row(row)[language], (), values)
    except KeyError:
        return None


@cache
def error_table() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Domain, code (with a variant) and row of every error."""
    source = files("understudy.core").joinpath("errors.toml")
    return tomllib.loads(source.read_text("utf-8"))


def _row(row: str) -> Mapping[str, Any]:
    domain, _, name = row.partition("/")
    found: Mapping[str, Any] | None = error_table().get(domain, {}).get(name)
    return error_table()[SHARED][name] if found is None else found


def _inherited(row: str, field: str) -> Any:
    """A field of a row; a variant without it inherits that of its code."""
    return _row(row).get(field) or _row(row.partition(":")[0]).get(field)


def _plain(value: object) -> object:
    """A JSON value with long text cut, so that an error never echoes a request of megabytes."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    text = str(value)
    return text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + ELLIPSIS


class _Words(string.Formatter):
    """Format strings of the table: lists are joined, `!q` quotes and cuts a name from outside.

    A placeholder is a plain name: `{a.b}` would read attributes.
    """

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        return kwargs[field_name], field_name

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion == "q":
            return quoted(str(value))
        if isinstance(value, list) and conversion is None:
            return ", ".join(str(each) for each in value)
        return super().convert_field(value, conversion)
