"""Active skills: pinned to a version, and in each prompt of their session while usable."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from understudy.core.errors import DatabaseUnavailable, UnderstudyError, coded_error
from understudy.core.records import OMIT, extended
from understudy.core.scope import ALL
from understudy.runs.model import Run
from understudy.sessions.model import (
    ActiveSkill,
    ActiveSkillSource,
    DefaultSkill,
    PersonaSnapshot,
    Session,
)
from understudy.skills.catalogue import Catalogue, LoadedSkill
from understudy.skills.catalogue_entry import CatalogueEntry, named
from understudy.skills.instructions import rendered
from understudy.skills.runtime_settings import SkillContext
from understudy.skills.usage import RecordedUse
from understudy.tools.base import ToolError

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_ACTIVE: Final = 16
# Limits in a prompt for the instructions of one and of all; beyond them a skill is only named.
MAX_BYTES: Final = 10 * 1024
MAX_ALL_BYTES: Final = 30 * 1024
SIMILAR: Final = 5
OPEN: Final = (
    "These skills are active in this session: people chose them. Follow their instructions in every "
    "task that they apply to, without opening them first."
)
NAMED: Final = (
    "These are active as well, and too long to stand here; open each with `use_skill` before you "
    "begin: {slugs}."
)


class ActiveSkillState(StrEnum):
    """How an active skill appears in the next prompt."""

    IN_PROMPT = "in_prompt"
    NAMED_ONLY = "named_only"
    LEFT_OUT = "left_out"


class LeftOut(StrEnum):
    """Why a prompt does not have the instructions of an active skill."""

    # Deleted, revoked, switched off, out of scope or not granted; which one is not revealed.
    NOT_AVAILABLE = "not_available"
    VERSION_GONE = "version_gone"
    CHANGED = "changed_since"
    UNREADABLE = "unreadable"
    NO_ROOM = "no_room"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSkillStanding(ActiveSkill):
    """An active skill, and how it appears in the next prompt."""

    state: ActiveSkillState
    reason: Annotated[LeftOut | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """The current check of an active skill; without `loaded` it is unusable."""

    skill: ActiveSkill
    state: ActiveSkillState = ActiveSkillState.LEFT_OUT
    reason: LeftOut | None = None
    loaded: LoadedSkill | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSkillsText:
    """The text of the active skills in a prompt, and their entries."""

    text: str = ""
    report: tuple[dict[str, Any], ...] = ()
    entries: tuple[CatalogueEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ActiveSkills:
    """Pins the active skills of a session to versions, and checks whether they are usable."""

    catalogue: Catalogue

    def fix(
        self,
        unit: "Unit",
        session: Session,
        wanted: Sequence[DefaultSkill],
        *,
        source: ActiveSkillSource,
        user_id: str,
        at_ms: int,
    ) -> Session:
        """The session with these skills active, in the versions that its agent is offered now.

        A skill that is not offered, or that needs a sidechain, is an error with its name. One that
        a person activates again gets the current version, and comes last.
        """
        if not wanted:
            return session
        who = {"agent_id": session.agent_id, "user_id": user_id}
        offered = self.catalogue.offered(unit, **who, session=session)
        active = {each.ref: each for each in session.active_skills}
        for given in wanted:
            persona = session.persona if source is ActiveSkillSource.PERSONA else None
            one = self._meant(unit, offered, given.name, who, persona)
            held = active.get(one.ref)
            if held is not None and source is ActiveSkillSource.PERSONA:
                continue
            if held is not None and held.source is ActiveSkillSource.PARENT:
                raise coded_error("sessions/active_skill_inherited", slug=one.slug)
            self._require_inline(unit, one, given)
            chosen = ActiveSkill(
                ref=one.ref,
                slug=one.slug,
                name=one.name,
                version=one.version,
                digest=one.digest,
                source=source,
                args=given.args,
                activated_by=user_id,
                activated_at_ms=at_ms,
            )
            # A request that is sent again, after its answer was lost, changes nothing.
            last = next(reversed(active.values()), None)
            if last is not None and replace(chosen, activated_at_ms=last.activated_at_ms) == last:
                continue
            active.pop(one.ref, None)
            active[one.ref] = chosen
        if len(active) > MAX_ACTIVE:
            raise coded_error("sessions/too_many_active_skills", limit=MAX_ACTIVE)
        return replace(session, active_skills=tuple(active.values()))

    def standings(
        self, unit: "Unit", session: Session, *, user_id: str
    ) -> tuple[ActiveSkillStanding, ...]:
        """Each active skill, and how it would appear in this user's next prompt."""
        return tuple(
            extended(ActiveSkillStanding, it.skill, state=it.state, reason=it.reason)
            for it in self._checked(unit, session, agent_id=session.agent_id, user_id=user_id)
        )

    def for_prompt(
        self, unit: "Unit", run: Run, session: Session, *, is_recorded: bool
    ) -> ActiveSkillsText:
        """The instructions for a run's prompt; unless `is_recorded`, no use is stored.

        A use limits the run to the tools that the skill allows, as when the agent opens it.
        """
        if not session.active_skills:
            return ActiveSkillsText()
        checked = self._checked(unit, session, agent_id=run.agent_id, user_id=run.user_id)
        shown = [it for it in checked if it.state is ActiveSkillState.IN_PROMPT]
        if is_recorded:
            for use in (_use(run, it.loaded) for it in shown if it.loaded is not None):
                unit.skill_uses.add(use)
        slugs = [it.skill.slug for it in checked if it.state is ActiveSkillState.NAMED_ONLY]
        parts = [OPEN, *(it.text for it in shown)] if shown else []
        if slugs:
            parts.append(NAMED.format(slugs=", ".join(slugs)))
        usable = [it.loaded.offered for it in checked if it.loaded is not None]
        return ActiveSkillsText(
            text="\n\n".join(parts),
            report=tuple(map(_reported, checked)),
            entries=tuple(usable),
        )

    def _meant(
        self,
        unit: "Unit",
        offered: Sequence[CatalogueEntry],
        name: str,
        who: dict[str, str],
        persona: PersonaSnapshot | None,
    ) -> CatalogueEntry:
        meant = named(offered, name)
        if len(meant) > 1:
            slugs = [it.slug for it in meant]
            raise coded_error("skills/skill_name_ambiguous", name=name, slugs=slugs)
        if meant:
            return meant[0]
        anywhere = self.catalogue.offered(unit, **who, session=None)
        similar = [it.slug for it in self.catalogue.find(offered, name, SIMILAR)]
        similar = similar or [it.slug for it in offered[:SIMILAR]]
        values: dict[str, Any] = {"name": name, "similar": similar}
        variant = ":similar" if similar else ""
        if persona is not None:
            variant, values["persona_id"] = ":default", persona.persona_id
        if named(anywhere, name):
            variant = variant if persona is not None else ""
            raise coded_error(f"sessions/active_skill_out_of_scope{variant}", **values)
        raise coded_error(f"sessions/active_skill_not_found{variant}", **values)

    def _require_inline(self, unit: "Unit", one: CatalogueEntry, given: DefaultSkill) -> None:
        if one.unusable is not None:
            raise coded_error("sessions/active_skill_unusable", slug=one.slug, reason=one.unusable)
        if one.context is SkillContext.FORK:
            raise coded_error("sessions/active_skill_forks", slug=one.slug)
        try:
            rendered(self.catalogue.load(unit, one), given.args)
        except ToolError as problem:
            raise coded_error(
                "sessions/invalid_active_skill_args", pointer="/args", problem=str(problem)
            ) from None

    def _checked(
        self, unit: "Unit", session: Session, *, agent_id: str, user_id: str
    ) -> list[_Checked]:
        if not session.active_skills:
            return []
        offered = self.catalogue.offered(unit, agent_id=agent_id, user_id=user_id, session=session)
        by_ref = {one.ref: one for one in offered if one.unusable is None}
        found, room = [], MAX_ALL_BYTES
        for skill in session.active_skills:
            one = self._loaded(unit, by_ref.get(skill.ref), skill)
            size = len(one.text.encode())
            if one.loaded is not None and size > min(room, MAX_BYTES):
                one = replace(one, state=ActiveSkillState.NAMED_ONLY, reason=LeftOut.NO_ROOM)
            elif one.loaded is not None:
                room -= size
            found.append(one)
        return found

    def _loaded(self, unit: "Unit", one: CatalogueEntry | None, skill: ActiveSkill) -> _Checked:
        if one is None:
            return _Checked(skill=skill, reason=LeftOut.NOT_AVAILABLE)
        if one.skill_id is not None:
            version = unit.skills.version(one.skill_id, skill.version or 0)
            is_served = version is not None and (
                version.is_accepted or one.version == skill.version
            )
            if version is None or not is_served or version.digest != skill.digest:
                return _Checked(skill=skill, reason=LeftOut.VERSION_GONE)
            one = replace(one, version=skill.version, digest=skill.digest)
        try:
            loaded = self.catalogue.load(unit, one)
            if loaded.offered.digest != skill.digest:
                return _Checked(skill=skill, reason=LeftOut.CHANGED)
            text = rendered(loaded, skill.args)
        except DatabaseUnavailable:
            raise
        except (UnderstudyError, ToolError):
            return _Checked(skill=skill, reason=LeftOut.UNREADABLE)
        state = ActiveSkillState.IN_PROMPT
        return _Checked(skill=skill, state=state, loaded=loaded, text=text)


def without(session: Session, name: str) -> Session:
    """The session without an active skill, by slug, id or name; `*` removes all of its own.

    Skills inherited from the parent stay: they may limit the tools.
    """
    if name == ALL:
        kept = [it for it in session.active_skills if it.source is ActiveSkillSource.PARENT]
        return replace(session, active_skills=tuple(kept))
    asked = name.strip()
    meant = [it for it in session.active_skills if asked in {it.slug, it.ref, it.name}]
    if not meant:
        active = [it.slug for it in session.active_skills]
        variant = "" if active else ":none"
        raise coded_error(f"sessions/skill_not_active{variant}", name=name, active=active)
    if any(it.source is ActiveSkillSource.PARENT for it in meant):
        raise coded_error("sessions/active_skill_inherited", slug=meant[0].slug)
    left = tuple(it for it in session.active_skills if it not in meant)
    return replace(session, active_skills=left)


def _use(run: Run, loaded: LoadedSkill) -> RecordedUse:
    one, settings = loaded.offered, loaded.settings
    return RecordedUse(
        # Derived from run and skill, so that a restarted run counts once.
        use_id=hashlib.sha256(f"active\0{run.run_id}\0{one.ref}".encode()).hexdigest(),
        skill_id=one.skill_id,
        slug=one.slug,
        version=one.version,
        digest=one.digest,
        agent_id=run.agent_id,
        user_id=run.user_id,
        session_id=run.session_id,
        run_id=run.run_id,
        at_ms=run.started_at_ms or run.submitted_at_ms,
        fingerprint=loaded.fingerprint,
        version_label=one.version_label,
        allowed_tools=settings.allowed_tools,
        blocked_tools=settings.blocked_tools,
    )


def _reported(it: _Checked) -> dict[str, Any]:
    reason = {} if it.reason is None else {"reason": str(it.reason)}
    return {
        "slug": it.skill.slug,
        "ref": it.skill.ref,
        "version": it.skill.version,
        "digest": it.skill.digest,
        "state": str(it.state),
        **reason,
    }
