"""One rule of the scrubber: what it looks for, what settles it, and examples that prove it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Span = tuple[int, int]


# Not frozen: one is made for every match, and freezing triples what that costs.
@dataclass(slots=True)
class Match:
    """What a rule's pattern found: the text it was found in, and where its groups stand."""

    string: str
    spans: Sequence[Span]
    names: Mapping[str, int]
    # What the match before this one took out.
    taken: Span = (0, 0)

    def span(self, name: str | None = None) -> Span:
        """Where a group stands; without a name, all of it."""
        return self.spans[self.names[name] if name else 0]

    def __getitem__(self, name: str) -> str:
        start, end = self.spans[self.names[name]]
        # A group that took no part stands nowhere.
        return self.string[start:end] if start >= 0 else ""


# Answers the parts of a match to take out; none when it only looked like a secret.
Pick = Callable[[Match], Iterable[Span]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One family of secrets or personal data; patterns are RE2's, so time is linear."""

    id: str
    kind: str
    # Cheap to look for, and in every text that the pattern matches.
    trigger: str
    pattern: str
    pick: Pick
    matches: Sequence[str]
    misses: Sequence[str]
    # What it takes may lie far behind its trigger.
    is_long: bool = False
    # What it takes where a false alarm costs little; None where nothing more than elsewhere.
    strict: Pick | None = None


def whole(match: Match) -> Iterable[Span]:
    """All of the match."""
    return (match.span(),)


def group(match: Match) -> Iterable[Span]:
    """What the group `secret` holds."""
    return (match.span("secret"),)


def group_if(check: Callable[[str], bool]) -> Pick:
    """What the group `secret` holds, if its text passes."""

    def pick(match: Match) -> Iterable[Span]:
        return (match.span("secret"),) if check(match["secret"]) else ()

    return pick
