"""The tool `use_skill`: returns the instructions of a skill, or carries it out in a sidechain."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, NotFound
from understudy.core.text import quoted
from understudy.sessions.model import Spawn, require_session
from understudy.skills.catalogue import Catalogue, LoadedSkill
from understudy.skills.catalogue_entry import CatalogueEntry, listing, named
from understudy.skills.instructions import file_text, rendered
from understudy.skills.lifecycle import in_force_for
from understudy.skills.model import PROMOTED, SkillOrigin
from understudy.skills.runtime_settings import SkillContext
from understudy.skills.tools.fork import Forks
from understudy.skills.usage import RecordedUse
from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError
from understudy.work.db_retry import run_blocking

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

SIMILAR = 3
MOST_NAMED = 20
WAIT_MS = 60_000
MAX_WAIT_MS = 120_000


def _given_or(default: object) -> Callable[[object], object]:
    """A default for null, which some models send for a parameter that they leave out."""
    return lambda given: default if given is None else given


class UseSkillParameters(Parameters):
    """What `use_skill` takes."""

    name: str = Field(min_length=1, max_length=500, description="The skill, as it was listed.")
    params: dict[str, Any] | str | None = Field(
        default=None, description="What the skill is to work on, if it takes arguments."
    )
    file: str = Field(
        default="", max_length=1_000, description="One of its files, to read only that."
    )
    wait: Annotated[bool, BeforeValidator(_given_or(True))] = Field(
        default=True, description="For a skill marked fork: false answers once it has begun."
    )
    timeout_ms: Annotated[int, BeforeValidator(_given_or(WAIT_MS))] = Field(
        default=WAIT_MS,
        ge=0,
        le=MAX_WAIT_MS,
        description="How long to wait for a fork; it goes on when the time is over.",
    )


class UseSkill:
    """Loads a skill for the agent, after a check of its access at this moment."""

    name = "use_skill"
    description = (
        "Get the instructions of a skill and the list of its files, to follow them now; or, with "
        "file, the text of one of its files. A skill marked fork is carried out by another agent "
        "beside you instead, and you get its result."
    )
    # Idempotent: a retried call counts once, and finds the sidechain that it began.
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = UseSkillParameters

    def __init__(self, catalogue: Catalogue, units: "Units", clock: Clock, forks: Forks) -> None:
        self._catalogue = catalogue
        self._units = units
        self._clock = clock
        self._forks = forks

    async def call(self, arguments: UseSkillParameters, context: ToolContext) -> str:
        """The instructions, a file, or the answer of a sidechain."""
        spawn, use = await run_blocking(self._before, context)
        if spawn is None:
            again = None if arguments.file else use
            loaded = await run_blocking(self._load, arguments.name, context, again)
            if arguments.file:
                return await run_blocking(file_text, loaded, arguments.file)
            instructions = rendered(loaded, arguments.params)
            if loaded.settings.context is SkillContext.FORK:
                spawn = await run_blocking(self._forks.begin, context, loaded, instructions)
            # Recorded only after the start: a sidechain that cannot start is not a use.
            await run_blocking(self._note, loaded, context)
            if spawn is None:
                return instructions
        elif use is None:
            await run_blocking(self._note_begun, arguments.name, context)
        until_ms = spawn.created_at_ms + arguments.timeout_ms if arguments.wait else None
        return await run_blocking(self._outcome, context, spawn, until_ms)

    def _before(self, context: ToolContext) -> tuple[Spawn | None, RecordedUse | None]:
        """The sidechain and the use of this tool call, if it is a retry."""
        with self._units.read() as unit:
            return self._forks.begun(unit, context), unit.skill_uses.get(context.call_digest)

    def _load(self, name: str, context: ToolContext, use: RecordedUse | None = None) -> LoadedSkill:
        """Load the named skill; for a retried call in the version that it got before."""
        self._catalogue.refresh()
        with self._units.read() as unit:
            offered = self._offered(unit, context, name.strip())
            meant = named(offered, name) if use is None else _used_before(offered, use)
            if not meant:
                raise ToolError(_unknown(name, self._catalogue.find(offered, name, SIMILAR)))
            if len(meant) > 1:
                raise ToolError(_several(name, meant))
            one = meant[0] if use is not None else _as_begun(unit, context.run_id, meant[0])
            return self._catalogue.load(unit, one)

    def _note_begun(self, name: str, context: ToolContext) -> None:
        """Record the use of a sidechain that started right before a crash."""
        # Without the skill its version is unknown, so no use is recorded.
        with suppress(ToolError, NotFound, DamagedRecord):
            self._note(self._load(name, context), context)

    def _offered(self, unit: "Unit", context: ToolContext, ref: str) -> tuple[CatalogueEntry, ...]:
        session = require_session(unit, context.session_id)
        if ref.startswith(PROMOTED):
            return self._catalogue.from_elsewhere(unit, ref, session)
        return self._catalogue.offered(
            unit, agent_id=context.agent_id, user_id=context.user_id, session=session
        )

    def _note(self, loaded: LoadedSkill, context: ToolContext) -> None:
        one = loaded.offered
        use = RecordedUse(
            use_id=context.call_digest,
            skill_id=one.skill_id,
            slug=one.slug,
            version=one.version,
            digest=one.digest,
            agent_id=context.agent_id,
            user_id=context.user_id,
            session_id=context.session_id,
            run_id=context.run_id,
            at_ms=self._clock.now_ms(),
            fingerprint=loaded.fingerprint,
            version_label=one.version_label,
            **_limits(loaded),
        )
        # A skill that was found by a search counts as listed.
        listed = listing(one, run_id=use.run_id, at_ms=use.at_ms)
        with self._units.write() as unit:
            unit.skill_uses.add(use)
            # Listings to the runs of trials do not count.
            if require_session(unit, use.session_id).trial_id is None:
                unit.skill_uses.list_for([listed])

    def _outcome(self, context: ToolContext, spawn: Spawn, until_ms: int | None) -> str:
        with self._units.read() as unit:
            use = unit.skill_uses.get(context.call_digest)
        # The timeout counts from the start of the sidechain, across restarts of the daemon.
        is_patient = until_ms is not None and self._clock.now_ms() < until_ms
        return self._forks.outcome(context, spawn, use, until_ms=until_ms if is_patient else None)


def _limits(loaded: LoadedSkill) -> dict[str, tuple[str, ...]]:
    """The tools that a run is limited to while it follows a skill; none for a sidechain."""
    settings = loaded.settings
    if settings.context is SkillContext.FORK:
        return {}
    return {"allowed_tools": settings.allowed_tools, "blocked_tools": settings.blocked_tools}


def _as_begun(unit: "Unit", run_id: str, one: CatalogueEntry) -> CatalogueEntry:
    """A skill in the version that the run began with, whatever was published since.

    The prompt lists it in that version; a skill that only a search finds has the version that was
    served when the run began. One that is newer than the run is used as it is.
    """
    run = unit.runs.get(run_id)
    report = {} if run is None else unit.runs.reports(run_id).skills or {}
    known = (*report.get("active", ()), *report.get("listed", ()))
    listed = next((it for it in known if it.get("ref") == one.ref), None)
    if listed is not None:
        version, digest = listed.get("version"), listed.get("digest")
    elif run is None or one.skill_id is None or _is_pinned(unit, one, run.user_id):
        return one
    else:
        at_ms = max(run.submitted_at_ms, run.started_at_ms or 0)
        is_owner = one.owner_id == run.user_id
        begun = unit.skills.version_at(one.skill_id, at_ms, for_owner=is_owner)
        version, digest = (begun.number, begun.digest) if begun else (one.version, one.digest)
    if one.skill_id is None and digest != one.digest:
        raise ToolError(
            f"skill {one.slug} changed since this run began; the next run can use it as it is now",
            code="skill_changed",
        )
    return replace(one, version=version, digest=str(digest))


def _is_pinned(unit: "Unit", one: CatalogueEntry, user_id: str) -> bool:
    skill = unit.skills.get(one.skill_id or "")
    return skill is not None and in_force_for(unit, skill, user_id).version != one.version


def _used_before(offered: Sequence[CatalogueEntry], use: RecordedUse) -> tuple[CatalogueEntry, ...]:
    """The skill of an earlier use, if it may still be used, in the version of that use."""
    return tuple(
        replace(one, version=use.version, digest=use.digest)
        for one in offered
        if (one.skill_id, one.slug) == (use.skill_id, use.slug)
        and (one.origin is SkillOrigin.PROMOTED) == (use.fingerprint is not None)
    )


def _several(name: str, meant: Sequence[CatalogueEntry]) -> str:
    slugs = ", ".join(one.slug for one in meant[:MOST_NAMED])
    return f"{len(meant)} skills are called {quoted(name)}; say which by its slug: {slugs}"


def _unknown(name: str, similar: tuple[CatalogueEntry, ...]) -> str:
    """One error for a missing skill and for one that may not be used."""
    meant = ", ".join(one.slug for one in similar)
    hint = f"did you mean {meant}?" if meant else "skill_search finds what there is."
    return f"there is no skill {quoted(name)} that you may use here; {hint}"
