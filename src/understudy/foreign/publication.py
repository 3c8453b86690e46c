"""Reviewed memory as files of a repository: standing learnings and granted skills, under a lock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from understudy.access.signing_keys import SigningKeyService
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.core.records import OMIT
from understudy.foreign.held import HeldWrites
from understudy.foreign.instruction_block import (
    block_of,
    digest,
    digest_of_block,
    edits,
    ids_in,
    split,
    with_block,
)
from understudy.foreign.publication_lock import (
    INSTRUCTIONS,
    LOCK,
    SKILL_FOLDERS,
    Drift,
    Lock,
    drift_of,
    lock_in,
)
from understudy.foreign.repository import Repository
from understudy.foreign.statements import Proposed, Statements
from understudy.learnings.model import Applies, EvidenceRef, Learning, LearningSource
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.remember import kind_of
from understudy.learnings.taint import is_unreviewed
from understudy.learnings.visibility import prompt_visible
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind
from understudy.sessions.model import require_project
from understudy.skills.catalogue import Catalogue

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The client that edits in a repository are from, as policy rules name it.
SOURCE: Final = "repository"
MAX_LEARNINGS: Final = 200
# More than anybody writes by hand between two publications.
MAX_EDITS: Final = 500
# The agents whose skills each folder gets.
READERS: Final = dict(zip(SKILL_FOLDERS, ("claude-code", "codex"), strict=True))
EVERYBODYS: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryPublication:
    """What was published into a repository, or what differs from it."""

    directory: str
    project_id: Annotated[str | None, OMIT] = None
    learning_ids: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    # Files that were written or removed; what was as it should be is not among them.
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    # What is not as it was published; after a publication, nothing.
    drift: tuple[Drift, ...] = ()
    # Proposals that edits in the block became, and how many could not become one.
    candidate_ids: tuple[str, ...] = ()
    refused_edits: int = 0
    # The key that the lock is signed with.
    key_id: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a repository should hold."""

    scope: LearningScope
    learnings: tuple[Learning, ...]
    skills: Mapping[str, bytes] = field(repr=False)

    @property
    def slugs(self) -> tuple[str, ...]:
        return tuple(sorted({path.split("/")[2] for path in self.skills}))

    def lock(self, paths: tuple[str, ...], block: str) -> Lock:
        return Lock(
            project_id=self.scope.id if self.scope.kind is ScopeKind.PROJECT else None,
            block=dict.fromkeys(paths, digest_of_block(block)),
            skills={path: digest(content) for path, content in self.skills.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationService:
    """Publishes into repositories, and compares them with what would be published."""

    units: "Units"
    clock: Clock
    catalogue: Catalogue
    statements: Statements
    keys: SigningKeyService
    held: HeldWrites

    def publish(
        self, principal: Principal, directory: str, project_id: str | None = None
    ) -> RepositoryPublication:
        """Write what is reviewed now; what people changed in the block is proposed first."""
        files = Repository(directory)
        with self.units.read() as unit:
            plan = self._plan(unit, project_id)
        targets = _instruction_files(files)
        block, found = block_of(plan.learnings), {path: files.read(path) for path in targets}
        wanted = {path: with_block(path, found[path], block) for path in targets}
        old = lock_in(files)
        _check_own(files, plan, old)
        lock = plan.lock(targets, block).signed(self.keys.signer())
        # What may be refused is read before anything is written.
        removed = [
            path
            for path, expected in (old.skills if old else {}).items()
            if path not in plan.skills and digest(files.read(path) or b"") == expected
        ]
        proposed = self._take_back(principal, plan.scope, found)
        wanted |= {**plan.skills, LOCK: lock.to_bytes()}
        written = [path for path, content in wanted.items() if files.read(path) != content]
        for path in written:
            files.write(path, wanted[path])
        with self.units.write() as unit:
            for name in set(written).intersection(INSTRUCTIONS):
                for agent_id in READERS.values():
                    self.held.wrote(unit, principal, agent_id, str(files.root / name))
        for path in removed:
            files.remove(path)
        return RepositoryPublication(
            directory=directory,
            project_id=project_id,
            learning_ids=tuple(it.learning_id for it in plan.learnings),
            skills=plan.slugs,
            written=tuple(written),
            removed=tuple(removed),
            candidate_ids=tuple(proposed.candidate_ids),
            refused_edits=proposed.refused,
            key_id=lock.key_id,
        )

    def check(self, directory: str, project_id: str | None = None) -> RepositoryPublication:
        """What differs from the lock, and what of it is out of date; nothing is written."""
        files = Repository(directory)
        lock, drift = lock_in(files), list(drift_of(files))
        project_id = project_id or (lock.project_id if lock else None)
        with self.units.read() as unit:
            plan = self._plan(unit, project_id)
        if lock is not None:
            is_known = lock.key_id is not None and self.keys.find(lock.key_id) is not None
            if not is_known and (lock.key_id or self.keys.signer()):
                drift.append(Drift(path=LOCK, reason="unknown_key" if lock.key_id else "unsigned"))
            wanted = plan.lock(tuple(lock.block), block_of(plan.learnings))
            named = {each.path for each in drift}
            pairs = ((lock.block, wanted.block), (lock.skills, wanted.skills))
            stale = {path for old, new in pairs for path, _ in old.items() ^ new.items()}
            drift += [Drift(path=path, reason="outdated") for path in sorted(stale - named)]
        return RepositoryPublication(
            directory=directory,
            project_id=project_id,
            learning_ids=tuple(it.learning_id for it in plan.learnings),
            skills=plan.slugs,
            drift=tuple(drift),
            key_id=lock.key_id if lock else None,
        )

    def _plan(self, unit: "Unit", project_id: str | None) -> _Plan:
        scope = WORKSPACE
        if project_id is not None:
            require_project(unit, project_id)
            scope = LearningScope(kind=ScopeKind.PROJECT, id=project_id)
        standing = unit.learnings.standing_in((scope,), limit=MAX_LEARNINGS)
        visible = prompt_visible(unit.learnings, standing, now_ms=self.clock.now_ms())
        reviewed = (it for it in visible if not is_unreviewed(it))
        return _Plan(
            scope=scope,
            learnings=tuple(sorted(reviewed, key=lambda it: (it.published_at_ms, it.learning_id))),
            skills=self._skills(unit),
        )

    def _skills(self, unit: "Unit") -> dict[str, bytes]:
        """The files of the skills that were granted to the readers of each folder."""
        found: dict[str, bytes] = {}
        for folder, reader in READERS.items():
            for agent_id in (EVERYBODYS, reader):
                # Nobody's own versions: what stands in a repository is for everybody.
                who = {"agent_id": agent_id, "user_id": ""}
                _, maybe_open = unit.skills.maybe_open(**who)
                granted = {it.skill.skill_id for it in maybe_open if it.agent_grant is not None}
                for entry in self.catalogue.offered(unit, session=None, **who):
                    if entry.skill_id in granted:
                        bundle = self.catalogue.load(unit, entry).bundle
                        found |= {f"{folder}/{entry.slug}/{at}": it for at, it in bundle.items()}
        return found

    def _take_back(
        self, principal: Principal, scope: LearningScope, found: Mapping[str, bytes | None]
    ) -> Proposed:
        """Propose what people changed in the blocks."""
        blocks = {path: split(path, content or b"")[1] or "" for path, content in found.items()}
        named = [each for block in blocks.values() for each in ids_in(block)]
        proposed = Proposed(candidate_ids=[])
        with self.units.write() as unit:
            known = unit.learnings.readable(list(dict.fromkeys(named)))
            for path, block in blocks.items():
                changed = list(islice(edits(block, known), MAX_EDITS + 1))
                if len(changed) > MAX_EDITS:
                    why = f"its block has more than {MAX_EDITS} changed lines"
                    raise coded_error("foreign/bad_file", path=path, why=why)
                for edit in changed:
                    old = known.get(edit.learning_id or "")
                    note = f"edited in {path}" + (f", where {old.learning_id} stood" if old else "")
                    wanted = NewCandidate(
                        scope=scope,
                        kind=old.kind if old else kind_of(edit.text, is_standing=True),
                        content=edit.text,
                        applies=Applies.ALWAYS,
                        source=LearningSource(client=SOURCE),
                        evidence_refs=(EvidenceRef(note=note),),
                    )
                    self.statements.propose(unit, principal, wanted, proposed)
            now, what = self.clock.now_ms(), scope.key
            unit.audit.add(audit.done(principal, "publications.create", what, at_ms=now))
        return proposed


def _instruction_files(files: Repository) -> tuple[str, ...]:
    """The files that get the block: not one that is, or imports, the one before."""
    first, second = INSTRUCTIONS
    if files.link(second) == first or files.link(first) == second:
        return (first,) if files.link(second) else (second,)
    imports = f"@{first}".encode() in (files.read(second) or b"").split()
    return (first,) if imports else INSTRUCTIONS


def _check_own(files: Repository, plan: _Plan, lock: Lock | None) -> None:
    """Refuse to replace files of skills that were never published here."""
    ours = lock.skills if lock else {}
    for path, content in plan.skills.items():
        if path not in ours and files.read(path) not in (None, content):
            raise coded_error("foreign/not_published", path=path)
