"""Intake of a run: check it, store its input, choose its route, put it in the line of its session."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from understudy.assets.contents import keep, refer
from understudy.assets.model import Asset, AssetDraft, ReferenceKind
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.core.scope import Scope
from understudy.core.text import preview
from understudy.core.trace_context import current_traceparent
from understudy.i18n.locales import locale_of
from understudy.providers.registry import RouteInfo
from understudy.runs.deliveries import pending_deliveries
from understudy.runs.lifecycle import run_event
from understudy.runs.model import (
    DebugLevel,
    GivenAs,
    InputItem,
    Route,
    Run,
    RunInput,
    RunRequest,
    RunStatus,
)
from understudy.runs.submission import Submission, check_limits, items_of, language_of
from understudy.sessions.bindings import take_keys
from understudy.sessions.journal import caller_metadata
from understudy.sessions.model import RoutePolicy, Session, SessionStatus
from understudy.sessions.scopes import effective_credential_scope

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Unit

# No provider accepts a larger request.
MAX_INPUT_BYTES: Final = 24 * 1024 * 1024
# More than the context window of any model; longer text belongs in a file.
MAX_INPUT_CHARS: Final = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDefaults:
    """Settings of the daemon for a run whose request, session and agent set none."""

    route_id: str
    debug_level: DebugLevel


@dataclass(frozen=True, slots=True)
class RunIntake:
    """The only way to create a run, for a caller, a schedule, a message or a parent run."""

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
        """Store and queue a run in the caller's transaction; returns it with its position in line.

        The session's row must be locked, so that the line of a session has one order.
        """
        check_limits(submission)
        _require_open(unit, session, needs_idle=needs_idle)
        now = self.clock.now_ms()
        take_keys(unit, principal, session, submission.binding_keys or (), at_ms=now)
        run_input = take_input(unit, principal, submission, now_ms=now)
        run = self._made(unit, principal, session, submission, run_input, now_ms=now)
        run = replace(run, run_id=new_id("run"), deliveries=pending_deliveries(run.reply_targets))
        unit.audit.add(audit.done(principal, "runs.submit", run.run_id, at_ms=now))
        return self._queue(unit, run)

    def draft(self, unit: "Unit", principal: Principal, session: Session, text: str) -> Run:
        """The run that a text would become in a session; it has no id and is not stored."""
        run_input = RunInput(items=(InputItem(type="text", text=text),))
        submission, now = Submission(content=text), self.clock.now_ms()
        return self._made(unit, principal, session, submission, run_input, now_ms=now)

    def _made(
        self,
        unit: "Unit",
        principal: Principal,
        session: Session,
        submission: Submission,
        run_input: RunInput,
        *,
        now_ms: int,
    ) -> Run:
        defaults, targets = self.defaults(unit), submission.reply_targets
        return Run(
            run_id="",
            session_id=session.session_id,
            agent_id=session.agent_id,
            user_id=principal.user_id,
            role=principal.role,
            kind=submission.kind,
            status=RunStatus.QUEUED,
            submitted_at_ms=now_ms,
            updated_at_ms=now_ms,
            request=_request_of(submission, run_input),
            input=run_input,
            route=self._route(unit, session, submission, defaults),
            max_tool_iterations=submission.max_tool_iterations,
            debug_level=submission.debug_level or defaults.debug_level,
            locale=locale_of(language_of(submission, principal)),
            reply_targets=session.reply_targets if targets is None else targets,
            has_own_targets=bool(targets),
            skill_fingerprint=submission.skill_fingerprint,
            denied=submission.denied,
            trial_id=session.trial_id,
        )

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
        # The end of a run starts the next of its session.
        if unit.runs.first_in_line(run.session_id) == run.run_id:
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
        text_preview=preview(submission.preview or run_input.text) or None,
        traceparent=current_traceparent.get(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteWish:
    """What the request, the session, the agent and the daemon say about the route."""

    override: str | None = None
    override_generation: Mapping[str, Any] | None = None
    policy: RoutePolicy | None = None
    agent_route: str | None = None
    default_route: str


def choose_route(wish: RouteWish, catalogue: "Routes", scope: Scope | None) -> Route:
    """The route in force: run override, then session policy, then agent, then daemon default."""
    own = dict(wish.override_generation or {})
    policy = wish.policy or RoutePolicy()
    # A model named without its provider belongs to the default route, not to the policy's.
    follows_policy = wish.override is None and "model" not in own
    route_id = (
        wish.override
        or (policy.provider if follows_policy else None)
        or wish.agent_route
        or wish.default_route
    )
    meant_for = policy.provider or wish.agent_route or wish.default_route
    generation = {**_policy_generation(policy, is_own_route=route_id == meant_for), **own}
    info = check_route(route_id, catalogue, scope)
    model = generation.pop("model", None) or info.model
    return Route(route_id=route_id, model=str(model), generation=generation)


def check_route(route_id: str, catalogue: "Routes", scope: Scope | None) -> RouteInfo:
    """The route, or `Invalid` when it does not exist, is out of scope or is not ready."""
    info = catalogue.find(route_id)
    if info is None:
        raise coded_error("routes/route_not_found:in_body", pointer="/provider", route_id=route_id)
    if scope is not None and not scope.gate("route").permits(route_id):
        raise coded_error(
            "runtime/route_blocked_by_credential_scope", pointer="/provider", route_id=route_id
        )
    if not info.ready:
        raise coded_error(
            "routes/route_not_ready", pointer="/provider", route_id=route_id, reason=info.reason
        )
    return info


def _policy_generation(policy: RoutePolicy, *, is_own_route: bool) -> dict[str, Any]:
    """Generation settings of the policy; its model applies only to the policy's own route."""
    settings = dict(policy.generation)
    if not is_own_route:
        settings.pop("model", None)
    return settings


def take_input(
    unit: "Unit", principal: Principal, submission: Submission, *, now_ms: int
) -> RunInput:
    """The input of a run; each file in it is an existing or a new asset."""
    given = items_of(submission)
    if any(_is_file(item) for item in given.values()):
        unit.assets.hold()
    items = tuple(
        _kept(unit, principal, item, pointer=pointer, now_ms=now_ms)
        for pointer, item in given.items()
    )
    _check_size(items)
    metadata = caller_metadata(submission.metadata)
    if submission.daemon_metadata:
        metadata = {**(metadata or {}), **submission.daemon_metadata}
    return RunInput(items=items, metadata=metadata)


def refer_to_assets(unit: "Unit", run: Run) -> None:
    """Add references from the run to its assets, which keep them from being deleted."""
    for asset_id in dict.fromkeys(item.asset_id for item in run.input.items):
        if asset_id is not None:
            refer(unit, asset_id, ReferenceKind.RUN, run.run_id)


def _is_file(item: InputItem | AssetDraft) -> bool:
    return isinstance(item, AssetDraft) or item.type != "text"


def _kept(
    unit: "Unit",
    principal: Principal,
    item: InputItem | AssetDraft,
    *,
    pointer: str,
    now_ms: int,
) -> InputItem:
    if isinstance(item, AssetDraft):
        kept, _ = keep(unit, principal, item, now_ms=now_ms)
        # The same content may exist as an asset with another file name.
        return _item_of(kept, file_name=item.file_name, given_as="inline")
    if item.type == "text":
        return item
    asset = unit.assets.get(item.asset_id or "", user_id=principal.user_id)
    if asset is None:
        raise coded_error(
            "assets/asset_not_found:in_input", pointer=pointer, asset_id=item.asset_id
        )
    # The input of a schedule was taken at its creation, and has its file name already.
    return _item_of(asset, file_name=item.file_name or asset.file_name, given_as=item.given_as)


def _item_of(asset: Asset, *, file_name: str, given_as: GivenAs | None) -> InputItem:
    return InputItem(
        type="asset_reference",
        asset_id=asset.asset_id,
        file_name=file_name,
        media_type=asset.media_type,
        size=asset.size,
        given_as=given_as,
    )


def _check_size(items: tuple[InputItem, ...]) -> None:
    # An asset that occurs twice is sent twice.
    if sum(item.size or 0 for item in items) > MAX_INPUT_BYTES:
        raise coded_error("assets/input_assets_too_large", limit_bytes=MAX_INPUT_BYTES)
    if sum(len(item.text or "") for item in items) > MAX_INPUT_CHARS:
        raise coded_error("runs/input_too_long", limit_chars=MAX_INPUT_CHARS)
