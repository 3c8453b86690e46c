"""The secret guard: checks texts and ids of callers for secrets before they are stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from understudy.core.errors import coded_error
from understudy.learnings.checks import SOURCE_IDS, check_reason
from understudy.learnings.model import OPEN, Candidate, EvidenceRef, Kind
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges
from understudy.learnings.secrets import secret_reason
from understudy.redaction.scrub import scrub

# The reason for a text with a literal secret of the operator.
KNOWN_SECRET: Final = "known_secret"  # noqa: S105
# Texts by their JSON pointer in the request.
Given = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SecretGuard:
    """Finds secrets by their form, and the literal secrets that the operator configured."""

    literals: tuple[str, ...] = ()

    def knows(self, text: str) -> bool:
        """Whether a text contains a literal secret of the operator."""
        if not self.literals:
            return False
        # Both are scrubbed by form, so that only literal secrets make a difference.
        return scrub(text, self.literals) != scrub(text)

    def reason(self, text: str, *, strictly: bool = False) -> str | None:
        """Why a text may not be stored, or None. `strictly` refuses examples of secrets too."""
        return secret_reason(text, strictly=strictly) or (
            KNOWN_SECRET if self.knows(text) else None
        )

    def check(self, given: Given, *, code: str = "secret_content", strictly: bool = False) -> None:
        """Refuse the first text that contains a secret."""
        for pointer, text in given.items():
            reason = None if text is None else self.reason(text, strictly=strictly)
            if reason is not None:
                raise coded_error(f"learnings/{code}", pointer=pointer, why=reason)

    def check_stored(self, candidate: Candidate) -> None:
        """Refuse a stored candidate with a literal secret that was configured after it was stored.

        Also fills the cache of `secret_reason`, which publishing reads under the write lock.
        """
        if candidate.state not in OPEN:
            return
        if candidate.kind is not Kind.RUN_SUMMARY:
            secret_reason(candidate.content)
        if self.knows(candidate.content):
            raise coded_error("learnings/secret_content", pointer="/content", why=KNOWN_SECRET)

    def checked_reason(self, reason: str | None, *, strictly: bool = False) -> str | None:
        """The trimmed reason, None if it is blank; refuses one that contains a secret."""
        given = check_reason(reason)
        self.check({"/reason": given}, code="secret_reason", strictly=strictly)
        return given


NO_LITERALS: Final = SecretGuard()


def texts_of(proposed: NewCandidate) -> Given:
    """The texts and ids of a proposal."""
    return {
        "/content": proposed.content,
        "/scope/id": proposed.scope.id,
        **{f"/source/{it}": getattr(proposed.source, it) for it in SOURCE_IDS},
        **dict(_evidence_texts(proposed.evidence_refs)),
    }


def texts_of_changes(wanted: PublishChanges) -> Given:
    """The texts and ids in the changes of a publication."""
    return {
        "/content": wanted.content,
        "/scope/id": wanted.scope.id if wanted.scope else None,
        **dict(_evidence_texts(wanted.evidence_refs or ())),
    }


def _evidence_texts(refs: Sequence[EvidenceRef]) -> Iterator[tuple[str, str | None]]:
    for index, ref in enumerate(refs):
        for name in ("run_id", "artifact_id", "note"):
            yield f"/evidence_refs/{index}/{name}", getattr(ref, name)
