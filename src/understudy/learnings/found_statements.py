"""What was found in a run, before it is made a candidate: screened, once each, and only a few."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from understudy.learnings.keys import key_of
from understudy.learnings.model import MAX_CONTENT_CHARS, SEMANTIC_KINDS, CapturePath, Kind
from understudy.learnings.secrets import secret_reason


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundStatement:
    """One thing that a run seems to have said."""

    kind: Kind
    content: str
    confidence: int
    path: CapturePath
    # Whether it stands in what somebody else wrote, as far as the text shows.
    is_quoted: bool = False

    @property
    def key(self) -> tuple[Kind, str]:
        """What makes two of them the same."""
        return self.kind, key_of(self.content).semantic


def screened(proposals: Iterable[FoundStatement], *, most: int) -> tuple[FoundStatement, ...]:
    """The first so many that may be proposed at all, each once."""
    kept: dict[tuple[Kind, str], FoundStatement] = {}
    for proposal in _allowed(proposals):
        if len(kept) == most:
            break
        kept.setdefault(proposal.key, proposal)
    return tuple(kept.values())


def _allowed(proposals: Iterable[FoundStatement]) -> Iterator[FoundStatement]:
    for proposal in proposals:
        if proposal.kind not in SEMANTIC_KINDS:
            continue
        # What is so long says more than one thing.
        if not 0 < len(proposal.content) <= MAX_CONTENT_CHARS:
            continue
        if secret_reason(proposal.content) is None:
            yield proposal
