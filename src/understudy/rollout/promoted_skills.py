"""The promoted skills in the catalogue: who is offered which, and in lists for people."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.rollout.definition import is_skill_name
from understudy.rollout.files import bundle_of, loaded_from, offered_from, said_in
from understudy.rollout.model import Mark, Rollout, Stage
from understudy.rollout.mounts import MountKeeper
from understudy.rollout.repair import Repair
from understudy.sessions.learning_scopes import WORKSPACE, visible_scopes
from understudy.sessions.model import Session
from understudy.skills.catalogue import Loaded
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.model import PROMOTED, Skill, SkillOrigin, Visibility
from understudy.skills.sources import LooseSource, SkillSource

if TYPE_CHECKING:
    from understudy.storage.mount_folders import MountFolders
    from understudy.storage.unit import Unit


# Whether a session is offered a skill, beside what its scopes say; None where none is named.
Chooses = Callable[["Unit", Rollout, Session | None], bool]


def for_everybody(unit: "Unit", rollout: Rollout, session: Session | None) -> bool:
    """Every session is offered it."""
    return True


# Who is offered skills of a stage; one that is not here is hidden from all.
CHOSEN: Final[Mapping[Stage, Chooses]] = {Stage.ACTIVE: for_everybody}


@dataclass(frozen=True, slots=True)
class _Known:
    """The rollouts that there were when they had these marks, by name."""

    marks: Mapping[str, Mark] = field(default_factory=dict)
    rollouts: Mapping[str, Rollout] = field(default_factory=dict, repr=False)

    def after(self, marks: Mapping[str, Mark], unit: "Unit") -> "_Known":
        """Those with other marks; reads only what changed."""
        same = {name for name, mark in marks.items() if self.marks.get(name) == mark}
        read = {it.skill_name: it for it in unit.rollouts.several(marks.keys() - same)}
        both = {name: self.rollouts.get(name) if name in same else read.get(name) for name in marks}
        found = {name: it for name, it in sorted(both.items()) if it is not None}
        return _Known(marks, found)


class PromotedSkills:
    """Decides by the records, anew at every call; files only say whether one may be used."""

    def __init__(
        self,
        keeper: MountKeeper,
        repair: Repair,
        chosen: Mapping[Stage, Chooses] = CHOSEN,
        *,
        clock: Clock,
    ) -> None:
        self._keeper = keeper
        self._repair = repair
        self._chosen = chosen
        self._ends = SourceEnds(clock)
        # Read again only where a record changed.
        self._last = _Known()

    def refresh(self) -> None:
        """Have the files follow what others on the same database changed."""
        self._repair.keep_up()

    def offered(self, unit: "Unit", session: Session | None) -> tuple[CatalogueEntry, ...]:
        """What a session may know of: by its learning scopes, and chosen for it."""
        return tuple(
            replace(offered_from(rollout), unusable=self._unusable(rollout))
            for rollout in self._known(unit)
            if _in_scope(unit, rollout, session)
            and self._chosen[rollout.status](unit, rollout, session)
        )

    def load(self, unit: "Unit", one: CatalogueEntry) -> Loaded:
        """A skill exactly as its record says; refused where its files say anything else."""
        rollout = unit.rollouts.get(one.slug)
        if rollout is None or not self._is_up(unit, rollout):
            raise coded_error("skills/skill_not_found", ref=one.slug)
        if rollout.status is Stage.ACTIVE:
            require_in_place(self._keeper, rollout)
        return loaded_from(rollout)

    def sources(self, unit: "Unit") -> Sequence[SkillSource]:
        """What people may know of: those in force."""
        active = (it for it in self._known(unit) if it.status is Stage.ACTIVE)
        return [self._source(rollout) for rollout in active]

    def is_name(self, ref: str) -> bool:
        """Whether a promoted skill could be called that."""
        return is_skill_name(ref)

    def has(self, unit: "Unit", name: str) -> bool:
        """Whether a rollout that is not revoked, in whatever stage, can be taken for it."""
        return unit.rollouts.live_called(name) is not None

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

    def _source(self, rollout: Rollout) -> LooseSource:
        place = self._keeper.folders.path(rollout.source_learning_id)
        record = replace(record_of(rollout), enabled=self._unusable(rollout) is None)
        return LooseSource(record, bundle_of(rollout.definition), place)

    def _unusable(self, rollout: Rollout) -> str | None:
        """Why everybody who asks for it is refused; a canary has no files."""
        if rollout.status is not Stage.ACTIVE:
            return None
        trouble = self._keeper.trouble_of(rollout.source_learning_id)
        return None if trouble is None else str(trouble.code)


def record_of(rollout: Rollout) -> Skill:
    """A promoted skill as the record it would have among the kept ones; it has no versions."""
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
        frontmatter=said_in(definition),
        context=definition.runtime.context,
    )


def _in_scope(unit: "Unit", rollout: Rollout, session: Session | None) -> bool:
    """Whether what the skill was learned for is in a session's sight."""
    if rollout.source_scope == WORKSPACE:
        return True
    return session is not None and rollout.source_scope in visible_scopes(unit, session)


def is_in_place(folders: "MountFolders", rollout: Rollout) -> bool:
    """Whether every file is there, to the byte, and nothing else is."""
    try:
        found = folders.digest(rollout.source_learning_id)
    except OSError:
        return False
    return found == bundle_of(rollout.definition).digest


def require_in_place(keeper: MountKeeper, rollout: Rollout) -> None:
    """Refuse a skill whose files say anything else than its record, though only that is used."""
    if not is_in_place(keeper.folders, rollout):
        keeper.found_drifted(rollout)
        raise coded_error("rollout/rollout_drifted", skill_name=rollout.skill_name)


class SourceEnds:
    """Knows at once whether a learning's time is over; it is said once and never changed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: Mapping[str, int | None] = {}

    def is_over(self, unit: "Unit", rollout: Rollout) -> bool:
        """Whether a skill may no longer be used, though nobody has taken it back yet."""
        source = rollout.source_learning_id
        if source not in self._ends:
            self._ends = unit.rollout_sources.ends()
        ends_at = self._ends.get(source)
        return ends_at is not None and ends_at <= self._clock.now_ms()
