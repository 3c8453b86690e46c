"""The records of playbooks: immutable versions, and the release status of each."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from understudy.core.machine import Machine
from understudy.core.records import OMIT
from understudy.playbooks.manifest import PlaybookEvidence, PlaybookManifest


class ReleaseStatus(StrEnum):
    """The release status of a version of a playbook."""

    DRAFT = "draft"
    VERIFIED = "verified"
    CANARY = "canary"
    ACTIVE = "active"
    REVOKED = "revoked"


_S = ReleaseStatus
# The statuses of versions that a flow may be started from.
STARTABLE: Final = frozenset({_S.VERIFIED, _S.CANARY, _S.ACTIVE})
RELEASE: Final = Machine(
    name="playbook release",
    domain="playbooks",
    conflict_code="playbook_revoked",
    steps={
        _S.DRAFT: STARTABLE | {_S.REVOKED},
        **{each: (STARTABLE | {_S.REVOKED}) - {each} for each in sorted(STARTABLE)},
        # A revoked version is final: a fix is a new version.
        _S.REVOKED: frozenset(),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookRef:
    """One version of a playbook, identified by its digest."""

    playbook_id: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookRelease:
    """A version with its release status, without its manifest."""

    version: str
    digest: str
    created_at_ms: int
    updated_at_ms: int
    status: ReleaseStatus = ReleaseStatus.DRAFT
    evidence_refs: tuple[PlaybookEvidence, ...] = ()
    revoked_reason: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookVersion(PlaybookRelease):
    """A version with its manifest."""

    playbook_id: str
    manifest: PlaybookManifest
    created_by: str

    @property
    def ref(self) -> PlaybookRef:
        """The reference to this version."""
        return PlaybookRef(playbook_id=self.playbook_id, version=self.version, digest=self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookSummary:
    """A playbook with its versions; title and objective are the newest version's."""

    playbook_id: str
    title: str
    objective: str
    latest_version: str
    active_version: Annotated[str | None, OMIT] = None
    # Newest first.
    versions: tuple[PlaybookRelease, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookDetail(PlaybookSummary):
    """A playbook with one of its versions in full."""

    selected_version: PlaybookVersion
