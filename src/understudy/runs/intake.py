"""Taking in a run: checked, given its route and its place in line, handed to the engine."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.core.text import preview
from understudy.i18n.locales import locale_of
from understudy.runs.deliveries import pending_deliveries
from understudy.runs.events import run_event
from understudy.runs.inputs import refer_to_assets, take_input
from understudy.runs.model import DebugLevel, Route, Run, RunInput, RunRequest, RunStatus
from understudy.runs.route_choice import RouteWish, choose_route
from understudy.runs.submission import Submission, check_limits, language_of
from understudy.sessions.model import Session, SessionStatus
from understudy.sessions.scopes import effective_credential_scope

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDefaults:
    """What applies to a run when nothing nearer says otherwise."""

    route_id: str
    debug_level: DebugLevel


@dataclass(frozen=True, slots=True)
class RunIntake:
    """The one way a run comes to be, whoever asks for it: a caller, a schedule, a letter, a parent."""

    clock: Clock
    routes: "Routes"
    defaults: Callable[["Unit"], RuntimeDefaults]

    def take(
        self,
        unit: "Unit",
        principal: Principal,
        session: Session,
        submission: Submission,
        *,
        needs_idle: bool = False,
    ) -> tuple[Run, int]:
        """Store and queue a run in the caller's transaction; answers it with its place in line.

        The session's row must be locked, so that the line of a session has one order.
        """
        check_limits(submission)
        _require_open(unit, session, needs_idle=needs_idle)
        defaults = self.defaults(unit)
        now = self.clock.now_ms()
        run_input = take_input(unit, principal, submission, now_ms=now)
        targets = submission.reply_targets
        run = Run(
            run_id=new_id("run"),
            session_id=session.session_id,
            agent_id=session.agent_id,
            user_id=principal.user_id,
            role=principal.role,
            kind=submission.kind,
            status=RunStatus.QUEUED,
            submitted_at_ms=now,
            updated_at_ms=now,
            request=_request_of(submission, run_input),
            input=run_input,
            route=self._route(unit, session, submission, defaults),
            max_tool_iterations=submission.max_tool_iterations,
            debug_level=submission.debug_level or defaults.debug_level,
            locale=locale_of(language_of(submission, principal)),
            reply_targets=session.reply_targets if targets is None else targets,
            skill_fingerprint=submission.skill_fingerprint,
            trial_id=session.trial_id,
        )
        run = replace(run, deliveries=pending_deliveries(run.reply_targets))
        unit.audit.add(audit.done(principal, "runs.submit", run.run_id, at_ms=now))
        return self._queue(unit, run)

    def _queue(self, unit: "Unit", run: Run) -> tuple[Run, int]:
        position = len(unit.runs.queued_positions([run.session_id])) + 1
        events = unit.journal.append(
            run.session_id,
            (
                run_event(run, "accepted", RunStatus.QUEUED),
                run_event(run, "queued", RunStatus.QUEUED, position=position),
            ),
            at_ms=run.submitted_at_ms,
        )
        run = replace(run, accepted_offset=events[0].offset)
        unit.runs.add(run)
        refer_to_assets(unit, run)
        unit.enqueue(run)
        return run, position

    def _route(
        self,
        unit: "Unit",
        session: Session,
        submission: Submission,
        defaults: RuntimeDefaults,
    ) -> Route:
        agent = unit.agents.get(session.agent_id)
        wish = RouteWish(
            override=submission.provider,
            override_generation=submission.generation,
            policy=session.route_policy,
            agent_route=agent.route if agent else None,
            default_route=defaults.route_id,
        )
        route = choose_route(wish, self.routes, effective_credential_scope(session))
        return replace(route, fallback_model=submission.fallback_model)


def _require_open(unit: "Unit", session: Session, *, needs_idle: bool) -> None:
    if session.status is SessionStatus.ENDED:
        raise coded_error("sessions/session_ended")
    if needs_idle and unit.runs.unfinished_in(session.session_id):
        raise coded_error("sessions/session_busy")


def _request_of(submission: Submission, run_input: RunInput) -> RunRequest:
    return RunRequest(
        source_plugin=submission.source_plugin,
        source_kind=submission.source_kind,
        actor_id=submission.actor_id,
        text_preview=preview(run_input.text) or None,
    )
