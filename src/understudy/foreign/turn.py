"""A turn of an agent that we do not run, as its client reports it."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id
from understudy.runs.model import RunUsage

# The client is also the id of the agent that stands for it, and the name in policy rules.
_SOURCE: Final = re.compile(r"[a-z][a-z0-9_.-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignCall:
    """A tool call of a foreign agent, with what came back."""

    name: str
    arguments: Mapping[str, Any]
    result: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignConversation:
    """A conversation of a foreign agent, by the ids of its client."""

    source: str
    conversation: str

    def check(self) -> None:
        """Raise `Invalid` for a name or an id that cannot be stored."""
        if not _SOURCE.fullmatch(self.source):
            raise coded_error("foreign/invalid_source", pointer="/source")
        check_caller_id(self.conversation, field="conversation", domain="foreign")

    def session_id(self, user_id: str) -> str:
        """The id of its session: the same whoever reports it, by whichever door."""
        return f"ses_{self._digest(user_id)}"

    def run_id(self, user_id: str, turn: str) -> str:
        """The id of the run of one of its turns: a turn that comes again adds nothing."""
        return f"run_{self._digest(user_id, turn)}"

    def _digest(self, *parts: str) -> str:
        named = "\0".join((self.source, self.conversation, *parts))
        return hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurn:
    """What a person typed, what the agent was given and did, and what it said."""

    of: ForeignConversation
    # The turn by an id of its client, or by `turn_key`.
    turn: str
    # Letter by letter what a person typed; empty where a program began the turn.
    typed: str
    said: str = ""
    # What stood in the place of the user and nobody typed.
    injected: tuple[str, ...] = ()
    calls: tuple[ForeignCall, ...] = ()
    # What its client reported that has no other place here.
    unknown: tuple[Mapping[str, Any], ...] = ()
    # The learnings that the client was given for it.
    remembered: tuple[str, ...] = ()
    model: str | None = None
    usage: RunUsage = field(default_factory=RunUsage)
    # Why the agent gave up; None for a turn that came to its end.
    error: str | None = None
    began_at_ms: int | None = None
    ended_at_ms: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was typed, done or said."""
        return not (self.typed.strip() or self.said.strip() or self.calls)


def turn_key(typed: str, nth: int) -> str:
    """The key of a turn whose client has no id for it: the `nth` with these words, from 1.

    Hooks and transcripts of the same client lead to the same key.
    """
    return f"{hashlib.sha256(typed.strip().encode(errors='replace')).hexdigest()}.{nth}"
