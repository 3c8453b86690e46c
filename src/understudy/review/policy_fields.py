"""Reading a JSON document field by field: what is wrong is noted with its place, and reading goes on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from understudy.core.errors import FieldError
from understudy.core.pointer import pointer

E = TypeVar("E", bound=StrEnum)

# More than anybody reads; what comes after is not worth naming.
MAX_PROBLEMS: Final = 50


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a document, and the list of everything that is wrong in it."""

    path: tuple[str | int, ...] = ()
    problems: list[FieldError] = field(default_factory=list)

    def within(self, name: str | int) -> "Spot":
        """The place of a field or an item."""
        return Spot((*self.path, name), self.problems)

    def wrong(self, detail: str, *, code: str = "wrong_value") -> None:
        """Note what is wrong here."""
        if len(self.problems) < MAX_PROBLEMS:
            problem = FieldError(pointer=pointer(self.path), code=code, detail=detail)
            self.problems.append(problem)


# Reads a value; one that is wrong is noted, and what comes back is then of no use.
Reader = Callable[[Any, Spot], Any]


def flag(value: Any, spot: Spot) -> Any:
    """True or false, and nothing that only looks like it."""
    if not isinstance(value, bool):
        spot.wrong("must be true or false")
    return value


def whole(low: int, high: int) -> Reader:
    """A whole number within bounds."""

    def read(value: Any, spot: Spot) -> Any:
        if type(value) is not int or not low <= value <= high:
            spot.wrong(f"must be a whole number from {low} to {high}")
        return value

    return read


def number(low: float, high: float) -> Reader:
    """A number within bounds."""

    def read(value: Any, spot: Spot) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            spot.wrong(f"must be a number from {low} to {high}")
        return value

    return read


def text(longest: int) -> Reader:
    """A few words on one line."""

    def read(value: Any, spot: Spot) -> Any:
        if not isinstance(value, str) or len(value) > longest:
            spot.wrong(f"must be a text of at most {longest} characters")
        elif not value.strip():
            spot.wrong("must not be blank")
        elif not value.isprintable():
            spot.wrong("must be one line of printable characters")
        return value

    return read


def one_of(kind: type[E]) -> Reader:
    """One word of an enumeration."""

    def read(value: Any, spot: Spot) -> Any:
        if isinstance(value, str) and value in set(kind):
            return kind(value)
        spot.wrong("must be " + " or ".join(kind))
        return None

    return read


def checked(reader: Reader, check: Callable[[Any, Spot], None]) -> Reader:
    """What a reader reads, looked at once more where it read something of use."""

    def read(value: Any, spot: Spot) -> Any:
        before = len(spot.problems)
        found = reader(value, spot)
        if len(spot.problems) == before:
            check(found, spot)
        return found

    return read


def maybe(reader: Reader) -> Reader:
    """A value or null, which is the same as leaving it out."""

    def read(value: Any, spot: Spot) -> Any:
        return None if value is None else reader(value, spot)

    return read


def many(reader: Reader, most: int) -> Reader:
    """A list of so many at most."""

    def read(value: Any, spot: Spot) -> Any:
        if not isinstance(value, list):
            spot.wrong("must be a list")
            return ()
        if len(value) > most:
            spot.wrong(f"must have at most {most} items", code="too_large")
            return ()
        return tuple(reader(item, spot.within(at)) for at, item in enumerate(value))

    return read


def fields(known: Mapping[str, Reader], *, required: tuple[str, ...] = ()) -> Reader:
    """An object with these fields; what was left out is not in what is read."""

    def read(value: Any, spot: Spot) -> Any:
        if not isinstance(value, Mapping):
            spot.wrong("must be an object")
            return {}
        for name in value:
            if name not in known:
                spot.within(name).wrong("no such field", code="unknown_field")
        for name in required:
            if name not in value:
                spot.within(name).wrong("is missing", code="missing")
        return {
            name: reader(value[name], spot.within(name))
            for name, reader in known.items()
            if name in value
        }

    return read


def record(
    make: Callable[..., object], known: Mapping[str, Reader], *, required: tuple[str, ...] = ()
) -> Reader:
    """An object read into a record; None where something in it is wrong."""
    read_fields = fields(known, required=required)

    def read(value: Any, spot: Spot) -> Any:
        before = len(spot.problems)
        values = read_fields(value, spot)
        return make(**values) if len(spot.problems) == before < MAX_PROBLEMS else None

    return read
