"""One setting of the runtime document: what it is, what it was, and how an earlier one comes back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from understudy.core.principal import Principal
from understudy.runtime.model import Revision
from understudy.runtime.service import RuntimeService

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T]):
    """A setting with its history; whose value is read from whole documents."""

    name: str
    runtime: RuntimeService
    # The value of a document, or `Invalid` where it is damaged.
    stored: Callable[[Mapping[str, Any]], T]
    # The same, with what counts where it is damaged.
    usable: Callable[[Mapping[str, Any]], T]
    to_json: Callable[[T], Any]

    def current(self) -> tuple[T, Revision]:
        """The value in force, and the revision it is part of."""
        revision = self.runtime.current()
        return self.usable(revision.document), revision

    def change(
        self, principal: Principal, value: T, *, expected_revision: int | None = None
    ) -> tuple[T, Revision]:
        """Put another value in place; the same one again makes no revision."""
        changes = {self.name: self.to_json(value)}
        revision = self.runtime.change(principal, changes, expected_revision=expected_revision)
        return value, revision

    def roll_back(
        self,
        principal: Principal,
        target_revision: int | None = None,
        *,
        expected_revision: int | None = None,
    ) -> tuple[T, Revision]:
        """Bring the value of an earlier revision back, and leave all other settings as they are."""
        revision = self.runtime.roll_back(
            principal, target_revision, expected_revision=expected_revision, only=self.name
        )
        return self.stored(revision.document), revision

    def revisions(self) -> tuple[tuple[T, Revision], ...]:
        """The value after each kept change of it, newest first."""
        kept = self.runtime.revisions()
        earlier = (*(revision.document.get(self.name) for revision in kept[1:]), _NOTHING)
        return tuple(
            (self.usable(revision.document), revision)
            for revision, before in zip(kept, earlier, strict=True)
            if revision.document.get(self.name) != before
        )


# What stands before the oldest revision that is kept.
_NOTHING: Final = object()
