"""Use cases of playbooks: validate, store, get, list, publish, revoke."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import FieldError, Invalid, UnderstudyError, coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.core.records import JsonObject, reduced
from understudy.core.text import preview, quoted
from understudy.playbooks.manifest import (
    SCOPES,
    ManifestCheck,
    PlaybookEvidence,
    PlaybookManifest,
    check_manifest,
)
from understudy.playbooks.model import (
    RELEASE,
    STARTABLE,
    PlaybookDetail,
    PlaybookRef,
    PlaybookRelease,
    PlaybookSummary,
    PlaybookVersion,
    ReleaseStatus,
)
from understudy.sessions.known_names import KnownNames

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

MAX_REASON_CHARS = 2000
MAX_RELEASE_EVIDENCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookService:
    """The operations on playbooks, each change in one transaction."""

    units: "Units"
    clock: Clock
    tool_names: Callable[[], Sequence[str]]
    # What the required scopes may allow.
    names: KnownNames = field(default_factory=KnownNames)

    def validate(self, principal: Principal, document: JsonObject) -> ManifestCheck:
        """Validate a manifest, and compute its digest."""
        manifest, found = check_manifest(document, self.tool_names())
        if manifest is None or found.errors:
            return found
        self.names.refresh()
        with self.units.read() as unit:
            return replace(found, errors=tuple(self._unknown(unit, principal, manifest)))

    def create(self, principal: Principal, document: JsonObject) -> tuple[PlaybookDetail, bool]:
        """Store a version; returns whether it is new. An identical one changes nothing."""
        manifest, found = check_manifest(document, self.tool_names())
        if manifest is None or found.errors:
            raise _invalid(found.errors)
        self.names.refresh()
        now = self.clock.now_ms()
        version = PlaybookVersion(
            playbook_id=manifest.playbook_id,
            version=manifest.version,
            digest=manifest.digest,
            manifest=manifest,
            created_at_ms=now,
            updated_at_ms=now,
            created_by=principal.user_id,
        )
        with self.units.write() as unit:
            is_new = unit.playbooks.add(version)
            if is_new:
                # A version that is stored already may stay when what it names has gone.
                if unknown := tuple(self._unknown(unit, principal, manifest)):
                    raise _invalid(unknown)
                self._audit(unit, principal, "playbooks.create", version)
            else:
                _check_same(unit, version)
            return _detail(unit, version.playbook_id, version.version), is_new

    def get(self, playbook_id: str, version: str | None = None) -> PlaybookDetail:
        """One playbook with a version in full: the named one, else the active, else the newest."""
        with self.units.read() as unit:
            return _detail(unit, playbook_id, version)

    def page(
        self,
        request: PageRequest,
        *,
        query: str | None = None,
        status: ReleaseStatus | None = None,
    ) -> Page[PlaybookSummary]:
        """Playbooks by id, optionally filtered by a version's status or by words in it."""
        with self.units.read() as unit:
            page = unit.playbooks.page(request, query=query, status=status)
            return Page(
                items=tuple(_summary(unit.playbooks.versions(each)) for each in page.items),
                next_cursor=page.next_cursor,
            )

    def publish(
        self,
        principal: Principal,
        ref: PlaybookRef,
        status: ReleaseStatus,
        evidence: Sequence[PlaybookEvidence],
    ) -> PlaybookDetail:
        """Release a version; the previously active one becomes verified."""
        if status not in STARTABLE:
            raise coded_error(
                "playbooks/status_not_published", pointer="/status", allowed=sorted(STARTABLE)
            )
        with self.units.write() as unit:
            versions = unit.playbooks.versions(ref.playbook_id, lock=True)
            found = _named(versions, ref)
            if found.status is ReleaseStatus.REVOKED:
                raise coded_error("playbooks/playbook_revoked")
            RELEASE.check(found.status, status)
            changed = self._released(unit, found, status, evidence)
            if not changed.evidence_refs:
                raise coded_error("playbooks/evidence_required", pointer="/evidence_refs")
            for other in versions:
                is_replaced = other.status is ReleaseStatus.ACTIVE and other != found
                if status is ReleaseStatus.ACTIVE and is_replaced:
                    unit.playbooks.update(
                        replace(
                            other,
                            status=ReleaseStatus.VERIFIED,
                            updated_at_ms=changed.updated_at_ms,
                        )
                    )
            unit.playbooks.update(changed)
            self._audit(unit, principal, "playbooks.publish", changed, reason=str(status))
            return _detail(unit, ref.playbook_id, ref.version)

    def revoke(
        self,
        principal: Principal,
        ref: PlaybookRef,
        reason: str | None,
        evidence: Sequence[PlaybookEvidence] = (),
    ) -> PlaybookDetail:
        """Revoke a version, so that no flow starts from it; running flows continue."""
        with self.units.write() as unit:
            found = _named(unit.playbooks.versions(ref.playbook_id, lock=True), ref)
            if found.status is not ReleaseStatus.REVOKED:
                changed = self._released(unit, found, ReleaseStatus.REVOKED, evidence)
                said = preview((reason or "").strip(), MAX_REASON_CHARS) or None
                unit.playbooks.update(replace(changed, revoked_reason=said))
                self._audit(unit, principal, "playbooks.revoke", changed, reason=said)
            return _detail(unit, ref.playbook_id, ref.version)

    def _unknown(
        self, unit: "Unit", principal: Principal, manifest: PlaybookManifest
    ) -> Iterator[FieldError]:
        """The names in required scopes that nothing answers to."""
        for name, read in SCOPES.items():
            lists = getattr(manifest.scopes, name)
            try:
                if lists is not None:
                    where = f"manifest/scopes/{name}"
                    self.names.check_scope(
                        unit, principal, read(lists), where=where, is_strict=True
                    )
            except Invalid as problem:
                first, *others = problem.errors
                # Its words name what is near.
                yield replace(first, detail=problem.detail)
                yield from others

    def _released(
        self,
        unit: "Unit",
        found: PlaybookVersion,
        status: ReleaseStatus,
        evidence: Sequence[PlaybookEvidence],
    ) -> PlaybookVersion:
        for at, ref in enumerate(evidence):
            _check_there(unit, ref, f"/evidence_refs/{at}")
        refs = {each.name: each for each in (*found.evidence_refs, *evidence)}
        if len(refs) > MAX_RELEASE_EVIDENCE:
            raise coded_error("playbooks/too_much_evidence", limit=MAX_RELEASE_EVIDENCE)
        return replace(
            found,
            status=status,
            evidence_refs=tuple(refs.values()),
            updated_at_ms=self.clock.now_ms(),
        )

    def _audit(
        self,
        unit: "Unit",
        principal: Principal,
        action: str,
        version: PlaybookVersion,
        *,
        reason: str | None = None,
    ) -> None:
        named = f"{version.playbook_id}/{version.version}"
        now = self.clock.now_ms()
        unit.audit.add(audit.done(principal, action, named, at_ms=now, reason=reason))


def _invalid(errors: Sequence[FieldError]) -> UnderstudyError:
    first = f"{errors[0].pointer}: {errors[0].detail}"
    return coded_error(
        "playbooks/manifest_invalid", errors=tuple(errors), count=len(errors), first=first
    )


def require_version(unit: "Unit", ref: PlaybookRef) -> PlaybookVersion:
    """The version with that digest, or `NotFound` or `Conflict`."""
    return _named(unit.playbooks.versions(ref.playbook_id), ref)


def _named(versions: Sequence[PlaybookVersion], ref: PlaybookRef) -> PlaybookVersion:
    found = _of_version(versions, ref.playbook_id, ref.version)
    if found.digest != ref.digest.strip().lower():
        raise coded_error(
            "playbooks/digest_mismatch", version=ref.version, stored_digest=found.digest
        )
    return found


def _of_version(
    versions: Sequence[PlaybookVersion], playbook_id: str, version: str
) -> PlaybookVersion:
    if not versions:
        raise coded_error("playbooks/playbook_not_found", playbook_id=quoted(playbook_id))
    for each in versions:
        if each.version == version:
            return each
    raise coded_error("playbooks/version_not_found", version=quoted(version))


def _check_same(unit: "Unit", wanted: PlaybookVersion) -> None:
    stored = _of_version(
        unit.playbooks.versions(wanted.playbook_id), wanted.playbook_id, wanted.version
    )
    if stored.digest != wanted.digest:
        raise coded_error(
            "playbooks/playbook_version_exists",
            version=wanted.version,
            stored_digest=stored.digest,
        )


def _check_there(unit: "Unit", ref: PlaybookEvidence, where: str) -> None:
    """Refuse blank evidence, and a run or flow that does not exist."""
    if not ref.kind.strip() or not ref.id.strip():
        raise coded_error("playbooks/evidence_blank", pointer=where)
    look: dict[str, Callable[[str], Any]] = {"run": unit.runs.get, "flow": unit.flows.get}
    if ref.kind in look and look[ref.kind](ref.id) is None:
        raise coded_error(
            "playbooks/evidence_not_there", pointer=where, kind=ref.kind, id=quoted(ref.id)
        )


def _summary(versions: Sequence[PlaybookVersion]) -> PlaybookSummary:
    newest = versions[0]
    active = (each.version for each in versions if each.status is ReleaseStatus.ACTIVE)
    return PlaybookSummary(
        playbook_id=newest.playbook_id,
        title=newest.manifest.title,
        objective=newest.manifest.objective,
        latest_version=newest.version,
        active_version=next(active, None),
        versions=tuple(reduced(PlaybookRelease, each) for each in versions),
    )


def _detail(unit: "Unit", playbook_id: str, version: str | None) -> PlaybookDetail:
    versions = unit.playbooks.versions(playbook_id)
    if not versions:
        raise coded_error("playbooks/playbook_not_found", playbook_id=quoted(playbook_id))
    summary = _summary(versions)
    wanted = version or summary.active_version or summary.latest_version
    selected = _of_version(versions, playbook_id, wanted)
    return reduced(PlaybookDetail, summary, selected_version=selected)
