"""Use cases of sidechains: a run spawns one, waits for it, answers it, cancels it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.permissions.model import CallRule
from understudy.runs.answers import QuestionResolution
from understudy.runs.intake import RunIntake
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, model_call_key, require_run
from understudy.runs.questions import answer
from understudy.runs.requests import Audience, PersonRequest, RequestState
from understudy.runs.submission import Submission
from understudy.sessions.creation import NewSession, open_session
from understudy.sessions.journal import JournalEvent
from understudy.sessions.known_names import KnownNames
from understudy.sessions.model import Session, Sidechain, Spawn, require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

SETTLED: Final = {True: RequestState.DECLINED, False: RequestState.ANSWERED}


@dataclass(frozen=True, slots=True, kw_only=True)
class SidechainWish:
    """The request of a run to spawn a sidechain."""

    task: str
    agent_id: str | None = None
    capability_scope: Mapping[str, object] | None = None
    max_tool_iterations: int | None = None
    label: str | None = None
    # Its own route and model, and tools that it is denied beyond those of the run.
    provider: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    denied: tuple[CallRule, ...] = ()
    # The part of the run's credential scope that it gets; None for all of it.
    credential_scope: Mapping[str, object] | None = None
    # Its own folder in the workspace, and the definition of a promoted skill that it executes.
    workdir: str | None = None
    skill_fingerprint: str | None = None
    # Whether an agent wrote its scope; what a skill that forks sets may name tools of other daemons.
    is_by_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SidechainStanding:
    """A sidechain with one of its runs, by default the newest, and the last output."""

    sidechain: Sidechain
    run: Run | None = None
    output: str | None = None
    # The model of that output, which may be the fallback; None where it is not looked up.
    answered_by: str | None = None
    # Whether a run of it is unfinished.
    is_live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The news for a run that waits for sidechains."""

    standings: tuple[SidechainStanding, ...]
    # Pending questions of any sidechain to this session.
    questions: tuple[PersonRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SidechainService:
    """The operations of a run on its child sessions."""

    units: "Units"
    clock: Clock
    intake: RunIntake
    cancel_run: Callable[[Principal, str], object]
    names: KnownNames = field(default_factory=KnownNames)

    def spawn(self, principal: Principal, run_id: str, call_key: str, wish: SidechainWish) -> Spawn:
        """Create a child session with its first run; the same call again returns the first one."""
        session_id = child_id(call_key)
        with self.units.write() as unit:
            parent_id = require_run(unit, run_id).session_id
            # Locked first, so that of two concurrent repeats the second sees the first.
            require_session(unit, parent_id, lock=True)
            known = unit.sidechains.spawn_of(session_id)
            if known is not None:
                return known
            # Locked from here on: whoever ends the run also sees the sidechain.
            run = _require_at_work(unit, run_id)
            child = self._open(unit, principal, run, session_id, wish)
            first, _ = self.intake.take(unit, principal, child, _submission(run, child, wish))
            spawn = Spawn(
                session_id=session_id,
                run_id=run_id,
                first_run_id=first.run_id,
                label=wish.label,
                created_at_ms=first.submitted_at_ms,
            )
            unit.sidechains.add(spawn)
            return spawn

    def news(
        self,
        parent_id: str,
        run_id: str,
        *,
        session_id: str | None = None,
        run_ids: Sequence[str] = (),
    ) -> News:
        """The standings of sidechains: those named, or all that a run of the session spawned."""
        with self.units.read() as unit:
            named = [_require_child_run(unit, parent_id, each) for each in run_ids]
            wanted: tuple[str, ...] = () if session_id is None else (session_id,)
            if not named and not wanted:
                wanted = unit.sidechains.spawned_by(run_id)
            children = [_require_child(unit, parent_id, each) for each in wanted]
            asked = [
                unit.requests.get(request_id)
                for request_id in unit.sidechains.questions_for(parent_id)
            ]
            return News(
                standings=(*_standings_of_runs(unit, named), *_standings(unit, children)),
                questions=tuple(request for request in asked if request is not None),
            )

    def page(self, parent_id: str, request: PageRequest) -> Page[SidechainStanding]:
        """The sidechains of a session, oldest first."""
        with self.units.read() as unit:
            require_session(unit, parent_id)
            page = unit.sidechains.page(parent_id, request)
            return Page(items=_standings(unit, page.items), next_cursor=page.next_cursor)

    def answer(
        self, principal: Principal, parent_id: str, resolution: QuestionResolution
    ) -> PersonRequest:
        """Answer a sidechain's question to its parent; idempotent for the same answer."""
        with self.units.write() as unit:
            request = _require_question(unit, parent_id, resolution.request_id)
            run = require_run(unit, request.run_id, lock=True)
            # Read again under the lock: it may have been resolved meanwhile.
            request = _require_question(unit, parent_id, resolution.request_id)
            if _says(request, resolution):
                return request
            now = self.clock.now_ms()
            actor = f"{principal.actor} by session {parent_id}"
            answer(unit, run, resolution, actor=actor, at_ms=now)
            unit.audit.add(
                audit.done(principal, "questions.resolve", request.request_id, at_ms=now)
            )
            return _require_question(unit, parent_id, resolution.request_id)

    def cancel(self, principal: Principal, parent_id: str, session_id: str) -> tuple[str, ...]:
        """Cancel the runs of a sidechain and of those below it; returns their ids."""
        with self.units.read() as unit:
            _require_child(unit, parent_id, session_id)
            run_ids = unit.sidechains.unfinished_runs([session_id])
        # Queued runs first, so that none begins when the current one has stopped.
        for run_id in reversed(run_ids):
            self.cancel_run(principal, run_id)
        return run_ids

    def workdir_of(self, session_id: str) -> str | None:
        """The working directory of a session within the workspace."""
        with self.units.read() as unit:
            return require_session(unit, session_id).workdir

    def _open(
        self, unit: "Unit", principal: Principal, run: Run, session_id: str, wish: SidechainWish
    ) -> Session:
        wanted = NewSession(
            session_id=session_id,
            agent_id=wish.agent_id,
            parent_session_id=run.session_id,
            capability_scope=wish.capability_scope,
            credential_scope=wish.credential_scope,
            denied=(*wish.denied, *run.denied),
            workdir=wish.workdir,
        )
        if wish.is_by_agent:
            # An agent cannot wait for a skill.
            check = partial(self.names.check_scope, unit, principal, where="capability_scope")
            check(wanted.capabilities, is_strict=True)
        child = open_session(unit, principal, wanted, now_ms=self.clock.now_ms())
        if child is None:
            raise coded_error("sessions/session_conflict:sidechain", session_id=session_id)
        return child


def child_id(call_key: str) -> str:
    """The session id that a tool call creates; a repeated call gives the same id."""
    digest = hashlib.sha256(f"sidechain\0{call_key}".encode(errors="replace")).hexdigest()
    return f"ses_{digest[:32]}"


def _require_at_work(unit: "Unit", run_id: str) -> Run:
    run = require_run(unit, run_id)
    if run.status in TERMINAL or run.stop_request is not None:
        raise coded_error("runs/run_state_conflict")
    return run


def _submission(run: Run, child: Session, wish: SidechainWish) -> Submission:
    submission = Submission(
        content=wish.task,
        source_kind="sidechain",
        actor_id=run.agent_id,
        max_tool_iterations=wish.max_tool_iterations,
        debug_level=run.debug_level,
        locale=run.locale,
        fallback_model=wish.fallback_model,
        skill_fingerprint=wish.skill_fingerprint,
    )
    named = {} if wish.model is None else {"model": wish.model}
    if wish.provider is not None or child.agent_id != run.agent_id:
        return replace(submission, provider=wish.provider, generation=named)
    # The same agent keeps the model of the run.
    generation = {**run.route.generation, "model": run.route.model, **named}
    return replace(submission, provider=run.route.route_id, generation=generation)


def _standings(unit: "Unit", sidechains: Sequence[Sidechain]) -> tuple[SidechainStanding, ...]:
    ids = [each.session.session_id for each in sidechains]
    latest = {
        session_id: _readable(unit, run_id)
        for session_id, run_id in unit.sidechains.latest_runs(ids).items()
    }
    outputs = unit.journal.outputs([run.run_id for run in latest.values() if run is not None])
    live = unit.sidechains.live_among(ids)
    return tuple(
        SidechainStanding(
            sidechain=each,
            run=(run := latest.get(each.session.session_id)),
            output=_last_said(outputs.get(run.run_id, ()) if run else ()),
            is_live=each.session.session_id in live,
        )
        for each in sidechains
    )


def _standings_of_runs(
    unit: "Unit", named: Sequence[tuple[Sidechain, Run]]
) -> tuple[SidechainStanding, ...]:
    outputs = unit.journal.outputs([run.run_id for _, run in named])
    return tuple(
        SidechainStanding(
            sidechain=sidechain,
            run=run,
            output=_last_said(outputs.get(run.run_id, ())),
            answered_by=_answered_by(unit, outputs.get(run.run_id, ())),
            is_live=run.status not in TERMINAL,
        )
        for sidechain, run in named
    )


def _readable(unit: "Unit", run_id: str) -> Run | None:
    try:
        return unit.runs.get(run_id)
    except DamagedRecord:
        return None


def _last_said(outputs: Sequence[JournalEvent]) -> str | None:
    return str(outputs[-1].data.get("text", "")) if outputs else None


def _answered_by(unit: "Unit", outputs: Sequence[JournalEvent]) -> str | None:
    """The model of the reply that the last output is from."""
    if not outputs:
        return None
    last = outputs[-1]
    key = model_call_key(last.run_id or "", last.data.get("step"))
    replies = unit.journal.by_keys(last.session_id, (key,))
    return str(replies[0].data.get("model") or "") or None if replies else None


def _require_child_run(unit: "Unit", parent_id: str, run_id: str) -> tuple[Sidechain, Run]:
    run = require_run(unit, run_id)
    return _require_child(unit, parent_id, run.session_id), run


def _require_child(unit: "Unit", parent_id: str, session_id: str) -> Sidechain:
    session = unit.sessions.get(session_id)
    if session is None or session.parent_session_id != parent_id:
        raise coded_error("sessions/sidechain_not_found", session_id=session_id)
    return Sidechain(session=session, spawn=unit.sidechains.spawn_of(session_id))


def _require_question(unit: "Unit", parent_id: str, request_id: str) -> PersonRequest:
    request = unit.requests.get(request_id)
    is_ours = (
        request is not None
        and request.audience is Audience.PARENT
        and unit.sidechains.parent_of(request.session_id) == parent_id
    )
    if request is None or not is_ours:
        raise coded_error("questions/question_not_found", request_id=request_id)
    return request


def _says(request: PersonRequest, resolution: QuestionResolution) -> bool:
    """Whether a question was resolved with exactly this answer."""
    if request.state is not SETTLED[resolution.declined]:
        return False
    stored: Sequence[Mapping[str, Any]] = (request.resolution or {}).get("answers", ())
    return [_plain(each) for each in stored] == [
        (each.question_id, each.selected_option_ids, each.freeform_answer or None)
        for each in resolution.answers
    ]


def _plain(stored: Mapping[str, Any]) -> tuple[str, tuple[str, ...], str | None]:
    chosen = tuple(stored.get("selected_option_ids", ()))
    return stored["question_id"], chosen, stored.get("freeform_answer")
