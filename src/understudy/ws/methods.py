"""What can be asked for, and by whom: what is not in the table, nobody can."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from understudy.core.errors import (
    Rejected,
    Unauthenticated,
    Unavailable,
    UnderstudyError,
    coded_error,
)
from understudy.core.principal import Principal, Role
from understudy.sessions.refusal_audit import RefusedChange, record_refusal
from understudy.skills.access import Author, known_id
from understudy.wire.base import JsonObject, RequestBody, View
from understudy.wire.websocket import (
    ConnectParams,
    GetFileParams,
    GetSkillParams,
    ListFilesParams,
    ListSkillsParams,
    RequestFrame,
    SetFileParams,
    UpdateSkillParams,
)
from understudy.ws import agents
from understudy.ws.errors import wrong_values
from understudy.ws.handshake import Caller
from understudy.ws.skills import get_skill, list_skills, update_skill

if TYPE_CHECKING:
    from understudy.daemon.services import Services

CONNECT: Final = "connect"
OF_SKILLS: Final = "skills."
# How the audit names somebody who is not known.
NOBODY: Final = Principal(user_id="anonymous", role=Role.VIEWER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One thing a client can ask for."""

    params: type[RequestBody]
    answer: Callable[["Services", Principal, Any], View]
    # What nobody thought about, only an admin may.
    role: Role = Role.ADMIN
    # The name by which the audit knows a change; None where nothing changes.
    action: str | None = None


METHODS: Final[Mapping[str, Method]] = {
    "skills.list": Method(params=ListSkillsParams, answer=list_skills, role=Role.VIEWER),
    "skills.get": Method(params=GetSkillParams, answer=get_skill, role=Role.VIEWER),
    "skills.update": Method(
        params=UpdateSkillParams,
        answer=update_skill,
        role=Role.OPERATOR,
        action="skills.update",
    ),
    "agents.files.list": Method(params=ListFilesParams, answer=agents.list_files, role=Role.VIEWER),
    "agents.files.get": Method(params=GetFileParams, answer=agents.get_file, role=Role.VIEWER),
    "agents.files.set": Method(
        params=SetFileParams,
        answer=agents.set_file,
        role=Role.OPERATOR,
        action="agents.write_file",
    ),
}


def answer(services: "Services", caller: Caller, frame: RequestFrame) -> View:
    """Do what a frame asks for; a change that is refused is in the audit."""
    if frame.method == CONNECT:
        return _connect(services, caller, frame)
    method = METHODS.get(frame.method)
    principal = NOBODY
    try:
        principal = caller.principal()
        if method is None:
            raise coded_error("ws/unknown_method", pointer="/method")
        return _call(services, principal, method, frame)
    except UnderstudyError as error:
        if method is not None and method.action is not None:
            _record(services, principal, method.action, frame, error)
        raise


def _connect(services: "Services", caller: Caller, frame: RequestFrame) -> View:
    try:
        return caller.connect(_params(ConnectParams, frame))
    except (Rejected, Unauthenticated) as error:
        _record(services, NOBODY, "ws.connect", frame, error)
        raise


def _call(services: "Services", principal: Principal, method: Method, frame: RequestFrame) -> View:
    principal.require(method.role)
    reason = services.ground.readiness() if method.action is not None else None
    if reason is not None:
        raise coded_error(f"readiness/daemon_{reason}")
    return method.answer(services, principal, _params(method.params, frame))


def _params(kind: type[Any], frame: RequestFrame) -> Any:
    try:
        return kind.model_validate(frame.params or {})
    except ValidationError as problem:
        raise wrong_values(problem, "params") from None


def _record(
    services: "Services",
    principal: Principal,
    action: str,
    frame: RequestFrame,
    error: UnderstudyError,
) -> None:
    """Write down who was told no; a daemon that cannot do something now refuses nobody."""
    if not isinstance(error, Unavailable):
        author = Author(principal=principal)
        ref = _named(frame.params or {})
        change = RefusedChange(principal=principal, action=action, ref=ref, error=error)
        is_skill = action.startswith(OF_SKILLS)
        named = (lambda unit: known_id(unit, author, ref)) if is_skill else None
        record_refusal(services.ground.units, services.ground.clock, change, named=named)


def _named(params: JsonObject) -> str:
    """What a change was to be made to, as the caller put it."""
    if agent_id := params.get("agentId"):
        return f"{agent_id}/{params.get('name', '')}"
    return next((str(params[key]) for key in ("id", "name") if params.get(key)), "")
