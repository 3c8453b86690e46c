"""The ASGI app: gated routes, errors as problem documents, and middleware."""

from asyncio import Semaphore
from dataclasses import replace
from typing import Final

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from understudy.api.gate import GatedRoute
from understudy.api.limits import BodyLimit
from understudy.api.middleware import Envelope, HeadAndOptions, allow_header
from understudy.api.open_streams import OpenStreams
from understudy.api.openapi import TITLE, VERSION, ServedDocument, document_of
from understudy.api.operations import SAFE_METHODS, Operation
from understudy.api.problems import ProblemAnswer, refusal_of
from understudy.api.routes import (
    a2a,
    access,
    agents,
    approvals,
    assets,
    background_tasks,
    bridges,
    channels,
    checkpoints,
    daemon,
    deliveries,
    evolution,
    flows,
    hooks,
    ids,
    imports,
    inbox,
    keys,
    lab,
    learning_candidates,
    learnings,
    mailboxes,
    mcp,
    memory,
    openai,
    otlp,
    outcomes,
    permissions,
    personas,
    playbooks,
    project_tasks,
    projects,
    publications,
    rollouts,
    runs,
    runtime,
    runtime_policies,
    sample,
    schedules,
    search,
    second_approvals,
    sessions,
    sidechains,
    skill_content,
    skill_grants,
    skill_roots,
    skills,
    streams,
    tasks,
    tools,
    unlearn,
    user_files,
)
from understudy.api.scan_queue import ScanQueue
from understudy.api.services import Services, services_of
from understudy.core.audit import AuditEntry, AuditOutcome, current_request_id
from understudy.core.errors import UnderstudyError
from understudy.core.principal import Principal
from understudy.core.text import printable
from understudy.sessions.refusal_audit import with_rules
from understudy.skills.access import Author, known_id

log = structlog.get_logger()

METHOD_NOT_ALLOWED: Final = 405
AUDITED: Final = frozenset({400, 401, 403, 409, 413, 422, 429})
# A 404 may hide a resource from its caller, so these are audited, too.
HIDING: Final = frozenset(
    {"skills/root_not_found", "skills/skill_not_found", "skills/skill_trash_not_found"}
)
UNKNOWN_FIELD: Final = "extra_forbidden"
NOBODY: Final = "anonymous"
SKILLS: Final = "skills"
MAX_ID_CHARS: Final = 400
ROUTERS = (
    sessions.router,
    checkpoints.router,
    runs.router,
    inbox.router,
    approvals.router,
    deliveries.router,
    streams.router,
    permissions.router,
    personas.router,
    projects.router,
    project_tasks.router,
    playbooks.router,
    flows.router,
    background_tasks.router,
    tasks.router,
    sidechains.router,
    agents.router,
    evolution.router,
    user_files.router,
    assets.router,
    schedules.router,
    mailboxes.router,
    channels.router,
    bridges.router,
    hooks.router,
    imports.router,
    publications.router,
    otlp.router,
    memory.router,
    search.router,
    ids.router,
    learning_candidates.router,
    learnings.router,
    unlearn.router,
    rollouts.router,
    # Before the paths with a skill id, which would match first.
    skill_roots.router,
    skills.router,
    skill_content.router,
    skill_grants.router,
    outcomes.router,
    runtime.router,
    second_approvals.router,
    runtime_policies.router,
    lab.router,
    tools.router,
    mcp.router,
    access.router,
    keys.router,
    daemon.router,
    sample.router,
)
# In shapes that are described elsewhere: neither in our document nor in our client.
DOORS = (openai.router, a2a.router)


async def answer_error(request: Request, error: Exception) -> Response:
    """The problem document for an error; a refused change is recorded in the audit."""
    refusal = refusal_of(error)
    if refusal.status == METHOD_NOT_ALLOWED:
        allowed = allow_header(request.app.router, request.scope) or ""
        refusal = replace(refusal, headers={**refusal.headers, "Allow": allowed})
    entry = None if _is_typing_mistake(error) else refused_entry(request, refusal)
    principal = getattr(request.state, "principal", None)
    if entry is not None and principal is None:
        address = request.client.host if request.client else ""
        told = services_of(request).tokens.strangers.refused(address)
        entry = replace(entry, reason=f"{entry.reason} {told}") if told else None
    if entry is not None:
        await run_in_threadpool(_record, services_of(request), entry, principal)
    return refusal.answer(request.scope)


def refused_entry(request: Request, refusal: ProblemAnswer) -> AuditEntry | None:
    """The audit entry of a refused request; None for reads and for missing resources."""
    is_kept = refusal.status in AUDITED or refusal.reason in HIDING
    action, named = _action_of(request)
    if action is None or request.method in SAFE_METHODS or not is_kept:
        return None
    principal = getattr(request.state, "principal", None)
    return AuditEntry(
        at_ms=services_of(request).resources.clock.now_ms(),
        actor=principal.actor if principal else NOBODY,
        action=action,
        resource=action.partition(".")[0],
        resource_id=named,
        outcome=AuditOutcome.REFUSED,
        reason=with_rules(refusal.reason, refusal.errors),
        request_id=current_request_id.get(),
    )


def _action_of(request: Request) -> tuple[str | None, str]:
    """How the audit names what was asked, and what it was about; None for what it leaves out."""
    route = request.scope.get("route")
    if isinstance(route, GatedRoute):
        operation = route.operation
        return operation.action or route.name_of_operation, _resource_id(request, operation)
    return getattr(request.scope.get("endpoint"), "action", None), ""


def _is_typing_mistake(error: Exception) -> bool:
    """Whether only field values were invalid; a field that nobody may set is audited."""
    if isinstance(error, UnderstudyError):
        return False
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    return all(each["type"] != UNKNOWN_FIELD for each in found)


def _resource_id(request: Request, operation: Operation) -> str:
    named = "/".join(str(value) for value in request.path_params.values())
    field = operation.body_id
    body = getattr(request.state, "body", None)
    if field is not None and isinstance(body, dict):
        named = str(body.get(field) or "")
    # Cut first: a long value would be read on the event loop.
    return printable(named[:MAX_ID_CHARS])[:MAX_ID_CHARS]


def _record(services: Services, entry: AuditEntry, principal: Principal | None) -> None:
    try:
        with services.resources.units.write() as unit:
            if principal is not None and entry.resource == SKILLS:
                ref, *rest = entry.resource_id.split("/")
                skill = known_id(unit, Author(principal=principal), ref)
                entry = replace(entry, resource_id="/".join([skill, *rest]))
            unit.audit.add(entry)
    except Exception:
        log.exception("audit.lost", action=entry.action, reason=entry.reason)


def create_app(services: Services) -> FastAPI:
    """The ASGI app over the services of a daemon."""
    app = _bare_app()
    if services.resources.settings.role == "worker":
        app.router.routes[:] = [it for it in daemon.router.routes if is_probe(it)]
    app.state.services = services
    app.state.open_streams = OpenStreams()
    app.state.scan_queue = ScanQueue()
    app.state.long_bodies = Semaphore(1)
    app.user_middleware += [
        Middleware(Envelope, metrics=services.metrics),
        Middleware(BodyLimit),
        Middleware(HeadAndOptions, router=app.router),
    ]
    return app


def is_probe(route: BaseRoute) -> bool:
    """Whether a daemon answers this even if it only works."""
    return getattr(route, "path", None) in ("/healthz", "/readyz", "/metrics")


def openapi_document() -> dict[str, object]:
    """The OpenAPI document, built without a daemon."""
    return document_of(_bare_app())


def _bare_app() -> FastAPI:
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # FastAPI's own telemetry would put request bodies into logs and spans.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        exception_handlers={
            UnderstudyError: answer_error,
            RequestValidationError: answer_error,
            HTTPException: answer_error,
        },
    )
    for router in (*ROUTERS, *DOORS):
        # `include_router` would build each route again, which takes a third of a second.
        app.router.routes.extend(router.routes)
    app.state.document = ServedDocument(app)
    app.add_route("/openapi.json", app.state.document.answer)
    return app
