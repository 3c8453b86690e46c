"""What an output is to contain: words that say something, and that nobody is told beforehand."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from understudy.core.errors import coded_error
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.skills.instructions import Params

MAX_MARKER_CHARS: Final = 1_000
EXPECTED: Final = "/expected_output_contains"
PARAMS: Final = "/params"


@dataclass(frozen=True, slots=True)
class Markers:
    """Looks at what callers want to see, before any of it is kept."""

    guard: SecretGuard = NO_LITERALS

    def check(self, marker: str, pointer: str = EXPECTED) -> str:
        """The trimmed words that an output is to contain."""
        trimmed = marker.strip()
        if not trimmed or len(marker) > MAX_MARKER_CHARS:
            raise coded_error("rollout/invalid_marker", pointer=pointer, most=MAX_MARKER_CHARS)
        why = self.guard.reason(trimmed, strictly=True)
        if why is not None:
            raise coded_error("rollout/secret_marker", pointer=pointer, why=why)
        return trimmed

    def check_params(self, params: Params) -> None:
        """Refuse what a skill is to work on if it looks like a secret."""
        for text in _read_in(params):
            why = self.guard.reason(text, strictly=True)
            if why is not None:
                raise coded_error("rollout/secret_params", pointer="/params", why=why)


def require_not_given(marker: str | None, params: Params, pointer: str = EXPECTED) -> None:
    """Refuse words that the run is given: an output that repeats them shows nothing.

    What parameters are called is no answer to anything, so only their values are looked at.
    """
    if marker and any(marker in text for text in _given_by(params)):
        raise coded_error("rollout/invalid_marker:in_input", pointer=pointer)


def _given_by(params: Params) -> Iterator[str]:
    """All values of parameters, as they were written and as they are passed on."""
    for value in _values(params):
        if isinstance(value, str):
            yield value
        yield json.dumps(value, ensure_ascii=False)


def _read_in(params: Params) -> tuple[str, ...]:
    """Everything that a run reads in its parameters, as it was written and as it is passed on."""
    if params is None:
        return ()
    if isinstance(params, str):
        return (params,)
    names = [name for each in _parts(params) if isinstance(each, dict) for name in each]
    texts = [each for each in _values(params) if isinstance(each, str)]
    return (json.dumps(params, ensure_ascii=False), *names, *texts)


def _values(given: object) -> Iterator[object]:
    return (each for each in _parts(given) if not isinstance(each, dict | list | tuple))


def _parts(given: object) -> Iterator[object]:
    """A value with all that lies in it; without recursion, as callers choose how deep it is."""
    left = [given]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part
