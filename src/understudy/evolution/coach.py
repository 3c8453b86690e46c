"""Remarks about evolution for a run: prompt sections, budget nudges, and the parting offer."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.agents.file_versions import files_in_force
from understudy.agents.model import BOOTSTRAP, Agent, ContextFile
from understudy.agents.switches import SoulLocks, Switches, resolve, soul_locks
from understudy.core.errors import UnderstudyError
from understudy.evolution.acts import MANAGE, PUBLISH
from understudy.evolution.nudges import (
    POSTSCRIPT,
    SELF_EVOLUTION,
    SKILL_CREATION,
    TENTHS,
    Briefing,
    Finish,
    Remark,
    held_back_by,
    nudge_due,
    nudge_text,
    own_chars,
    remark_event,
    remark_key,
    with_postscript,
)
from understudy.evolution.offer_book import OfferBook
from understudy.evolution.run_settings import (
    RunSettings,
    is_interactive,
    settings_in,
    soul_version_in,
)
from understudy.runs.execute import RunExecution, Steps, counted_calls
from understudy.runs.model import Run
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.sessions.model import Session
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class EvolutionCoach:
    """Makes the remarks of a run, by the agent's switches at its start."""

    units: "Units"
    offers: OfferBook

    def brief(
        self,
        run: Run,
        session: Session,
        *,
        agent: Agent | None,
        files: Sequence[ContextFile],
        tools: Collection[str],
    ) -> Briefing:
        """The prompt sections of a run; empty where the switches are off."""
        settings = RunSettings(
            # A trial evolves nothing.
            switches=Switches() if agent is None or run.trial_id is not None else resolve(agent),
            locale=run.locale,
            is_interactive=is_interactive(run, session),
            soul_version=soul_version_in(files),
        )
        switches = settings.switches
        locks = SoulLocks() if agent is None else soul_locks(agent)
        # An agent that may not change SOUL.md is not told how.
        may_change_soul = switches.self_evolve and not locks.frozen
        # Short prompts and agents in bootstrap have neither section.
        has_parts = settings.is_interactive and not is_bootstrapping(files)
        has_tool = MANAGE in tools
        return Briefing(
            self_evolution=SELF_EVOLUTION if has_parts and may_change_soul else "",
            skill_creation=SKILL_CREATION
            if has_parts and switches.skill_evolve and has_tool
            else "",
            record=settings.record(),
        )

    def nudge(
        self, execution: RunExecution, *, step: int, max_steps: int, has_tools: bool
    ) -> Remark | None:
        """The budget nudge that is due before a model call."""
        run, settings = execution.run, settings_in(execution.snapshot.reports)
        if not settings.switches.skill_evolve:
            return None
        done = execution.steps.done
        sent = {name for name, _ in TENTHS if remark_key(run.run_id, name) in done}
        due = nudge_due(step, max_steps, sent=sent, tools_removed=not has_tools)
        if due is None:
            return None
        text = nudge_text(due, settings.locale)
        return Remark(text=text, event=remark_event(run, due, step=step))

    async def parting(self, execution: RunExecution, *, step: int, reply: str) -> Remark | None:
        """The postscript below the last reply of a run that completed."""
        run, settings = execution.run, settings_in(execution.snapshot.reports)
        finish = Finish(
            switches=settings.switches,
            tool_calls=counted_calls(execution.steps.done.values()),
            reply=reply,
            was_sent=remark_key(run.run_id, POSTSCRIPT) in execution.steps.done,
            is_interactive=settings.is_interactive,
            created_skill=made_skill(execution.steps),
        )
        if held_back_by(finish):
            return None
        if held_back_by(replace(finish, was_declined=await self._was_declined(run))):
            return None
        return Remark(
            text=with_postscript(reply, settings.locale)[len(reply) :],
            event=remark_event(run, POSTSCRIPT, step=step),
            also=lambda unit: self.offers.open(unit, run),
            own_chars=own_chars(reply),
        )

    async def _was_declined(self, run: Run) -> bool:
        """Whether the user declined in this session; True where that cannot be read."""
        try:
            return await retry_while_db_down(self._look_up, run)
        except UnderstudyError as problem:
            log.warning("postscript.not_offered", run_id=run.run_id, code=problem.code)
            return True

    def _look_up(self, run: Run) -> bool:
        with self.units.read() as unit:
            return self.offers.was_declined(unit, run)


def is_taught(unit: "Unit", run: Run) -> bool:
    """Whether a run gets the tool for skills: where its prompt may have the rules, and in sidechains.

    Scheduled runs, mail and agents in bootstrap get neither.
    """
    # The prompt of an agent can be previewed without a session.
    session = unit.sessions.get(run.session_id)
    files = files_in_force(unit, unit.agents.get(run.agent_id), run.user_id)
    has_user = (
        session is None or is_interactive(run, session) or session.parent_session_id is not None
    )
    return has_user and not is_bootstrapping(files)


def is_bootstrapping(files: Sequence[ContextFile]) -> bool:
    """Whether an agent is still in bootstrap: its BOOTSTRAP.md has content."""
    return any(file.name == BOOTSTRAP and file.content.strip() for file in files)


# The tools that can create a skill, and whether a call with these arguments does.
MAKERS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    MANAGE: lambda arguments: arguments.get("action") == "create",
    PUBLISH: lambda _: True,
}


def made_skill(steps: Steps) -> bool:
    """Whether a call of a run created a skill."""
    events = steps.done.values()
    made = {_place(event) for event in events if _succeeded(event)}
    return any(_place(event) in made and _makes(event) for event in _calls(events))


def _succeeded(event: JournalEvent) -> bool:
    return (
        event.kind is EventKind.TOOL_RESULT
        and event.data.get("name") in MAKERS
        and event.data.get("status") == "ok"
    )


def _calls(events: Iterable[JournalEvent]) -> Iterable[JournalEvent]:
    return (event for event in events if event.kind is EventKind.TOOL_CALL)


def _place(event: JournalEvent) -> tuple[object, object]:
    # Some providers reuse call ids in every reply, so the step is part of the key.
    return event.data.get("step"), event.data.get("call_id")


def _makes(call: JournalEvent) -> bool:
    try:
        arguments = json.loads(str(call.data.get("arguments")) or "{}")
    except ValueError:
        return False
    makes = MAKERS.get(str(call.data.get("name")))
    return makes is not None and isinstance(arguments, Mapping) and makes(arguments)
