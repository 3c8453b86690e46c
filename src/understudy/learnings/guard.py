"""What callers give is looked at before it is kept: their words, and the names they use for things."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from understudy.learnings.model import OPEN, Candidate, EvidenceRef, Kind, LearningSource
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import Wanted
from understudy.learnings.refusals import looks_secret
from understudy.learnings.secrets import secret_reason
from understudy.redaction.scrub import scrub
from understudy.sessions.learning_scopes import LearningScope

# Why a text is refused that holds what the operator named.
KNOWN_SECRET: Final = "known_secret"  # noqa: S105
# Texts by the place where a caller gave them.
Given = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SecretGuard:
    """Tells secrets by their looks, and those that the operator named whatever they look like."""

    literals: tuple[str, ...] = ()

    def knows(self, text: str) -> bool:
        """Whether a text holds a secret that the operator named."""
        if not self.literals:
            return False
        # What looks like a secret is gone from both, so only what was named is left to differ.
        return scrub(text, self.literals) != scrub(text)

    def reason(self, text: str, *, strictly: bool = False) -> str | None:
        """Why a text may not be kept; None when it may. `strictly` takes no example for one."""
        return secret_reason(text, strictly=strictly) or (
            KNOWN_SECRET if self.knows(text) else None
        )

    def check(self, given: Given, *, code: str = "secret_content", strictly: bool = False) -> None:
        """Refuse the first text that may not be kept."""
        for pointer, text in given.items():
            reason = None if text is None else self.reason(text, strictly=strictly)
            if reason is not None:
                raise looks_secret(code, pointer=pointer, why=reason)

    def check_stored(self, candidate: Candidate) -> None:
        """Refuse one that was let pass before the operator named a secret in it.

        Also looks at it as publishing will once more: what was found is remembered until then.
        """
        if candidate.state not in OPEN:
            return
        if candidate.kind is not Kind.RUN_SUMMARY:
            secret_reason(candidate.content)
        if self.knows(candidate.content):
            raise looks_secret("secret_content", pointer="/content", why=KNOWN_SECRET)

    def check_reason(self, reason: str | None, *, strictly: bool = False) -> None:
        """Refuse a reason that may not be kept."""
        self.check({"/reason": reason}, code="secret_reason", strictly=strictly)


NO_LITERALS: Final = SecretGuard()


def texts_of(proposed: NewCandidate) -> Given:
    """Everything that a proposal says or names."""
    return {
        "/content": proposed.content,
        "/scope/id": proposed.scope.id,
        **dict(_source_ids(proposed.source)),
        **dict(_evidence_texts(proposed.evidence_refs)),
    }


def texts_wanted(wanted: Wanted) -> Given:
    """Everything that whoever publishes says or names anew."""
    return {
        "/content": wanted.content,
        "/scope/id": _id(wanted.scope),
        **dict(_evidence_texts(wanted.evidence_refs or ())),
    }


def _id(scope: LearningScope | None) -> str | None:
    return None if scope is None else scope.id


def _source_ids(source: LearningSource) -> Iterator[tuple[str, str | None]]:
    for name in ("run_id", "session_id", "agent_id", "observation_id", "derivation_id"):
        yield f"/source/{name}", getattr(source, name)


def _evidence_texts(refs: Sequence[EvidenceRef]) -> Iterator[tuple[str, str | None]]:
    for index, ref in enumerate(refs):
        for name in ("run_id", "artifact_id", "note"):
            yield f"/evidence_refs/{index}/{name}", getattr(ref, name)
