"""The promoted skills in the skill catalogue: which sessions are offered which, and lists."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.rollout.definition import is_skill_name
from understudy.rollout.files import bundle_of, catalogue_entry_of, frontmatter_of, loaded_skill_of
from understudy.rollout.model import Rollout, RolloutMark, Stage
from understudy.rollout.mounts import MountKeeper
from understudy.rollout.repair import MountRepair
from understudy.sessions.learning_scopes import WORKSPACE, visible_scopes
from understudy.sessions.model import Session
from understudy.skills.catalogue import LoadedSkill
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.model import PROMOTED, Skill, SkillOrigin, Visibility
from understudy.skills.sources import SkillSource, UnversionedSource

if TYPE_CHECKING:
    from understudy.storage.mount_folders import MountFolders
    from understudy.storage.unit import Unit


# Whether a session is offered a skill that is in its scopes; without a session, None is passed.
Chooses = Callable[["Unit", Rollout, Session | None], bool]


def for_everybody(unit: "Unit", rollout: Rollout, session: Session | None) -> bool:
    """Offer the skill to every session."""
    return True


# Why a local skill is not offered under the name of a promoted one.
NAME_TAKEN: Final = "a promoted skill has its name and comes first"
NAME_REVOKED: Final = (
    "a promoted skill of its name was revoked, and nothing in a folder replaces it"
)
# Which sessions are offered skills of a stage; stages that are not here are hidden.
CHOSEN: Final[Mapping[Stage, Chooses]] = {Stage.ACTIVE: for_everybody}


@dataclass(frozen=True, slots=True)
class _Known:
    """A cache of rollouts by name, with the marks that they had when they were read."""

    marks: Mapping[str, RolloutMark] = field(default_factory=dict)
    rollouts: Mapping[str, Rollout] = field(default_factory=dict, repr=False)

    def after(self, marks: Mapping[str, RolloutMark], unit: "Unit") -> "_Known":
        """The cache for newer marks; reads only rollouts whose mark changed."""
        same = {name for name, mark in marks.items() if self.marks.get(name) == mark}
        read = {it.skill_name: it for it in unit.rollouts.several(marks.keys() - same)}
        both = {name: self.rollouts.get(name) if name in same else read.get(name) for name in marks}
        found = {name: it for name, it in sorted(both.items()) if it is not None}
        return _Known(marks, found)


class PromotedSkills:
    """Decides by the rollout records at every call; mounted files only decide whether a skill is usable."""

    def __init__(
        self,
        keeper: MountKeeper,
        repair: MountRepair,
        chosen: Mapping[Stage, Chooses] = CHOSEN,
        *,
        clock: Clock,
    ) -> None:
        self._keeper = keeper
        self._repair = repair
        self._chosen = chosen
        self._ends = SourceEnds(clock)
        # Updated only where a record changed.
        self._last = _Known()

    def refresh(self) -> None:
        """Update mounted files for changes that other daemons on the same database made."""
        self._repair.keep_up()

    def offered(self, unit: "Unit", session: Session | None) -> tuple[CatalogueEntry, ...]:
        """The promoted skills that a session is offered: in its learning scopes, and chosen for it."""
        return tuple(
            replace(catalogue_entry_of(rollout), unusable=self._unusable(rollout))
            for rollout in self._known(unit)
            if _in_scope(unit, rollout, session)
            and self._chosen[rollout.status](unit, rollout, session)
        )

    def load(self, unit: "Unit", one: CatalogueEntry) -> LoadedSkill:
        """The skill of a record; refused where the mounted files differ from it."""
        rollout = unit.rollouts.get(one.slug)
        if rollout is None or not self._is_up(unit, rollout):
            raise coded_error("skills/skill_not_found", ref=one.slug)
        if rollout.status is Stage.ACTIVE:
            require_in_place(self._keeper, rollout)
        return loaded_skill_of(rollout)

    def sources(self, unit: "Unit") -> Sequence[SkillSource]:
        """The active promoted skills, for lists."""
        active = (it for it in self._known(unit) if it.status is Stage.ACTIVE)
        return [self._source(rollout) for rollout in active]

    def is_name(self, ref: str) -> bool:
        """Whether a promoted skill could have this name."""
        return is_skill_name(ref)

    def has(self, unit: "Unit", name: str) -> bool:
        """Whether a live rollout has this name, in any spelling."""
        return unit.rollouts.live_called(name) is not None

    def reserved(self, unit: "Unit") -> Mapping[str, str]:
        """The names of skills that are offered, or were before they were revoked, with the reason.

        Without names that a local skill of the config file's roots takes.
        """
        names = unit.rollouts.reserved_names(self._chosen.keys())
        return {
            name: NAME_TAKEN if is_live else NAME_REVOKED
            for name, is_live in names.items()
            if self._keeper.shadows.over(name) is None
        }

    def _known(self, unit: "Unit") -> Iterator[Rollout]:
        marks = unit.rollouts.stamp(self._chosen.keys())
        known = self._last
        if known.marks != marks:
            self._last = known = known.after(marks, unit)
        return (rollout for rollout in known.rollouts.values() if self._is_up(unit, rollout))

    def _is_up(self, unit: "Unit", rollout: Rollout) -> bool:
        return (
            rollout.status in self._chosen
            and self._keeper.shadows.over(rollout.skill_name) is None
            and not self._ends.is_over(unit, rollout)
        )

    def _source(self, rollout: Rollout) -> UnversionedSource:
        place = self._keeper.folders.path(rollout.source_learning_id)
        record = replace(record_of(rollout), enabled=self._unusable(rollout) is None)
        return UnversionedSource(record, bundle_of(rollout.definition), place)

    def _unusable(self, rollout: Rollout) -> str | None:
        """Why the skill cannot be used now; None if it can. A canary has no files."""
        if rollout.status is not Stage.ACTIVE:
            return None
        trouble = self._keeper.trouble_of(rollout.source_learning_id)
        return None if trouble is None else str(trouble.code)


def record_of(rollout: Rollout) -> Skill:
    """A promoted skill as a skill record, without versions."""
    definition = rollout.definition
    return Skill(
        skill_id=PROMOTED + rollout.skill_name,
        slug=rollout.skill_name,
        name=rollout.skill_name,
        description=definition.description,
        origin=SkillOrigin.PROMOTED,
        owner_id=rollout.promoted_by,
        version=0,
        digest=rollout.digest,
        size=bundle_of(definition).size,
        created_at_ms=rollout.promoted_at_ms,
        updated_at_ms=rollout.updated_at_ms,
        visibility=Visibility.PUBLIC,
        frontmatter=frontmatter_of(definition),
        context=definition.runtime.context,
    )


def _in_scope(unit: "Unit", rollout: Rollout, session: Session | None) -> bool:
    """Whether a session sees the scope of the source learning."""
    if rollout.source_scope == WORKSPACE:
        return True
    return session is not None and rollout.source_scope in visible_scopes(unit, session)


def is_in_place(folders: "MountFolders", rollout: Rollout) -> bool:
    """Whether the mounted folder has exactly the files of the record, to the byte."""
    try:
        found = folders.digest(rollout.source_learning_id)
    except OSError:
        return False
    return found == bundle_of(rollout.definition).digest


def require_in_place(keeper: MountKeeper, rollout: Rollout) -> None:
    """Refuse a skill whose mounted files differ from its record."""
    if not is_in_place(keeper.folders, rollout):
        keeper.found_drifted(rollout)
        raise coded_error("rollout/rollout_drifted", skill_name=rollout.skill_name)


class SourceEnds:
    """A cache of the expiry of source learnings, which never changes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: Mapping[str, int | None] = {}

    def is_over(self, unit: "Unit", rollout: Rollout) -> bool:
        """Whether the source learning has expired, although the skill is not revoked yet."""
        source = rollout.source_learning_id
        if source not in self._ends:
            self._ends = unit.rollout_sources.ends()
        ends_at = self._ends.get(source)
        return ends_at is not None and ends_at <= self._clock.now_ms()
