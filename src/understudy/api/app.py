"""The ASGI app: routes behind the gate, errors as problems, an envelope around everything."""

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from understudy.api.envelope import Envelope
from understudy.api.limits import BodyLimit
from understudy.api.methods import Methods
from understudy.api.openapi import TITLE, VERSION, ServedDocument, document_of
from understudy.api.refusals import answer_error
from understudy.api.routes import (
    access,
    agents,
    approvals,
    assets,
    checkpoints,
    daemon,
    deliveries,
    evolution,
    learning_candidates,
    learnings,
    mailboxes,
    mcp,
    memory,
    permissions,
    personas,
    policies,
    projects,
    rollouts,
    runs,
    runtime,
    schedules,
    sessions,
    sidechains,
    skill_content,
    skill_grants,
    skills,
    streams,
    tasks,
    tools,
    user_files,
)
from understudy.api.services import Services
from understudy.core.errors import UnderstudyError

ROUTERS = (
    sessions.router,
    checkpoints.router,
    runs.router,
    approvals.router,
    deliveries.router,
    streams.router,
    permissions.router,
    personas.router,
    projects.router,
    tasks.router,
    sidechains.router,
    agents.router,
    evolution.router,
    user_files.router,
    assets.router,
    schedules.router,
    mailboxes.router,
    memory.router,
    learning_candidates.router,
    learnings.router,
    rollouts.router,
    skills.router,
    skill_content.router,
    skill_grants.router,
    runtime.router,
    policies.router,
    tools.router,
    mcp.router,
    access.router,
    daemon.router,
)


def create_app(services: Services) -> FastAPI:
    """The app over the services of a daemon."""
    app = _bare_app()
    app.state.services = services
    app.user_middleware += [
        Middleware(Envelope, metrics=services.metrics),
        Middleware(BodyLimit),
        Middleware(Methods, router=app.router),
    ]
    return app


def openapi_document() -> dict[str, object]:
    """The OpenAPI document, without a daemon."""
    return document_of(_bare_app())


def _bare_app() -> FastAPI:
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # It would put request bodies into logs and spans.
        telemetry={"tracing": False, "metrics": False, "logs": False},
        exception_handlers={
            UnderstudyError: answer_error,
            RequestValidationError: answer_error,
            HTTPException: answer_error,
        },
    )
    for router in ROUTERS:
        # Including a router would build each of its routes again, which takes a third of a second.
        app.router.routes.extend(router.routes)
    app.add_route("/openapi.json", ServedDocument(app).answer)
    return app
