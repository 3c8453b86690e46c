"""The rules that hold for every agent, kept in the runtime document."""

from dataclasses import dataclass
from typing import Final

from understudy.core.errors import Invalid, coded_error
from understudy.core.principal import Principal
from understudy.permissions.model import CallRule
from understudy.permissions.rules import read_document, write_document
from understudy.runtime.model import Revision
from understudy.runtime.service import RuntimeService

KEY: Final = "permissions"


@dataclass(frozen=True, slots=True)
class DaemonRules:
    """Reads and changes the rules of the daemon; every change is a revision."""

    runtime: RuntimeService

    def current(self) -> tuple[Revision, tuple[CallRule, ...]]:
        """The rules in force, and the revision they are part of."""
        revision = self.runtime.current()
        return revision, rules_in(revision)

    def replace(
        self,
        principal: Principal,
        rules: tuple[CallRule, ...],
        *,
        expected_revision: int | None = None,
    ) -> tuple[Revision, tuple[CallRule, ...]]:
        """Put other rules in place of those there are; the next tool call sees them."""
        revision = self.runtime.change(
            principal, {KEY: write_document(rules)}, expected_revision=expected_revision
        )
        return revision, rules


def rules_in(revision: Revision) -> tuple[CallRule, ...]:
    """The rules of a runtime document, or `DamagedRecord`."""
    try:
        return read_document(revision.document.get(KEY, {}))
    except Invalid as problem:
        raise coded_error("storage/record_damaged:daemon_rules") from problem
