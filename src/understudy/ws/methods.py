"""WebSocket methods: parameters, role and function of each; no others can be called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from understudy.agents.file_versions import check_file_name
from understudy.agents.model import CONTEXT_FILES, ContextFile
from understudy.core.errors import (
    Invalid,
    Rejected,
    Unauthenticated,
    Unavailable,
    UnderstudyError,
    coded_error,
)
from understudy.core.page import MAX_LIMIT, PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.records import parsed
from understudy.inbox.second_approvals import GatedChange
from understudy.runtime.two_people import TwoApprovers, waiting_answer
from understudy.sessions.refusal_audit import RefusedChange, record_refusal
from understudy.skills.access import Author, known_id
from understudy.skills.model import EVERYTHING, Skill, Visibility, is_id
from understudy.skills.revisions import SkillFieldChanges
from understudy.wire.base import JsonObject, RequestBody, View
from understudy.wire.skills import UpdateSkill
from understudy.wire.websocket import (
    AgentFile,
    AgentFileSet,
    ConnectParams,
    FileState,
    GetFileParams,
    GetSkillParams,
    ListedFiles,
    ListedSkills,
    ListFilesParams,
    ListSkillsParams,
    NamedSkill,
    RequestFrame,
    SetFileParams,
    SkillContent,
    SkillUpdated,
    UpdateSkillParams,
)
from understudy.ws.errors import within, wrong_values
from understudy.ws.handshake import Caller
from understudy.ws.limits import MAX_FRAME_BYTES

if TYPE_CHECKING:
    from understudy.daemon.services import Services

# The frame size without the envelope of a list.
ROOM: Final = MAX_FRAME_BYTES - 4096
CONNECT: Final = "connect"
OF_SKILLS: Final = "skills."
# The audit's name for an unauthenticated caller.
NOBODY: Final = Principal(user_id="anonymous", role=Role.VIEWER)


def list_files(services: "Services", principal: Principal, params: ListFilesParams) -> ListedFiles:
    """Every file that an agent may have, in the order of the prompt."""
    held = {file.name: file for file in services.agents.service.files(params.agentId)}
    return ListedFiles(
        agentId=params.agentId,
        files=[
            FileState(name=name, missing=name not in held, size=_size(held.get(name)))
            for name in CONTEXT_FILES
        ],
    )


def get_file(services: "Services", principal: Principal, params: GetFileParams) -> AgentFile:
    """One file with its content; one that is not there is missing, which is no mistake."""
    try:
        name = check_file_name(params.name)
    except Invalid as error:
        raise within(error, "/params") from None
    held = {file.name: file for file in services.agents.service.files(params.agentId)}
    return AgentFile(agentId=params.agentId, file=_state(name, held.get(name)))


def set_file(services: "Services", principal: Principal, params: SetFileParams) -> AgentFileSet:
    """Keep new content as the next version, and give it to users with copies where that is wanted."""
    given = (principal, params.agentId, params.name, params.content)
    propagated = 0
    try:
        if params.propagate:
            file, propagated = services.agents.service.write_file_for_all(*given)
        else:
            file = services.agents.service.write_file(*given)
    except Invalid as error:
        raise within(error, "/params") from None
    return AgentFileSet(
        agentId=params.agentId, file=_state(params.name, file), propagated=propagated
    )


def _state(name: str, file: ContextFile | None) -> FileState:
    content = "" if file is None else file.content
    return FileState(name=name, missing=not content, size=_size(file), content=content)


def _size(file: ContextFile | None) -> int:
    return 0 if file is None else file.size


def list_skills(
    services: "Services", principal: Principal, params: ListSkillsParams
) -> ListedSkills:
    """The skills that the caller may know of; fewer than asked for when they are long."""
    request = PageRequest.parse(limit=params.limit or MAX_LIMIT, cursor=params.cursor)
    while True:
        page = services.skills.library.page(principal, request, EVERYTHING)
        listed = ListedSkills(
            skills=[_named_skill(skill) for skill in page.items], next_cursor=page.next_cursor
        )
        if request.limit == 1 or len(listed.model_dump_json().encode()) <= ROOM:
            return listed
        request = replace(request, limit=request.limit // 2)


def get_skill(services: "Services", principal: Principal, params: GetSkillParams) -> SkillContent:
    """One skill with its instructions."""
    library = services.skills.library
    found = library.get(principal, library.named(principal, params.name).skill_id)
    return SkillContent(**_named_skill(found.skill).model_dump(), content=found.instructions)


def update_skill(
    services: "Services", principal: Principal, params: UpdateSkillParams
) -> SkillUpdated:
    """Change what people may change of a skill."""
    given = params.updates
    if not any(value is not None for value in given.model_dump().values()):
        raise coded_error("ws/no_updates", pointer="/params/updates")
    changes = parsed(SkillFieldChanges, given.model_dump())
    ref = _ref(params)
    act = partial(services.skills.service.update, Author(principal=principal), ref, changes)
    try:
        if changes.visibility is Visibility.PUBLIC:
            return _made_public(services, principal, act, ref, given)
        act()
    except Invalid as error:
        raise within(error, "/params/updates") from None
    return SkillUpdated()


def _made_public(
    services: "Services",
    principal: Principal,
    act: Callable[[], object],
    ref: str,
    given: UpdateSkill,
) -> SkillUpdated:
    """Make a skill public; with two approvers required, record or complete the approval."""
    change = GatedChange(
        units=services.resources.units,
        clock=services.resources.clock,
        principal=principal,
        subject=TwoApprovers.SKILL_ACTIVATION,
        # The name of the same call over HTTP, so that either can be the second approval.
        operation="skills.update",
        values={"skill_id": ref},
        body=given.model_dump(mode="json", exclude_unset=True),
    )
    waiting = change.carry_out(act)
    if waiting is None:
        return SkillUpdated()
    return SkillUpdated(ok="false", waiting=waiting_answer(waiting))


def _ref(params: UpdateSkillParams) -> str:
    """The one skill that is named, by id or name."""
    named = [ref for ref in (params.id, params.name) if ref]
    if len(named) != 1:
        raise coded_error("ws/bad_request:skill_name", pointer="/params")
    return _name(params.name) if params.name else named[0]


def _name(name: str) -> str:
    """A valid name; `NotFound` for a name that no skill could have."""
    try:
        is_id(name)
    except Invalid:
        raise coded_error("skills/skill_not_found", ref=name) from None
    return name


def _named_skill(skill: Skill) -> NamedSkill:
    return NamedSkill.of(
        skill,
        id=skill.skill_id,
        source=skill.origin,
        author=skill.frontmatter.get("author"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method that clients can call."""

    params: type[RequestBody]
    answer: Callable[["Services", Principal, Any], View]
    # Admin by default: a method without a role is closed to others.
    role: Role = Role.ADMIN
    # The audit action of a change; None for reads.
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
    "agents.files.list": Method(params=ListFilesParams, answer=list_files, role=Role.VIEWER),
    "agents.files.get": Method(params=GetFileParams, answer=get_file, role=Role.VIEWER),
    "agents.files.set": Method(
        params=SetFileParams,
        answer=set_file,
        role=Role.OPERATOR,
        action="agents.write_file",
    ),
}


def answer(services: "Services", caller: Caller, frame: RequestFrame) -> View:
    """Execute the request in a frame; refused changes are recorded in the audit."""
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
    reason = services.resources.readiness() if method.action is not None else None
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
    """Record a refusal in the audit; `Unavailable` is no refusal."""
    is_told = (
        principal is not NOBODY
        or services.tokens.strangers.refused(f"websocket, {action}") is not None
    )
    if is_told and not isinstance(error, Unavailable):
        author = Author(principal=principal)
        ref = _named(frame.params or {})
        change = RefusedChange(principal=principal, action=action, ref=ref, error=error)
        is_skill = action.startswith(OF_SKILLS)
        named = (lambda unit: known_id(unit, author, ref)) if is_skill else None
        record_refusal(services.resources.units, services.resources.clock, change, named=named)


def _named(params: JsonObject) -> str:
    """The id or name of the thing to change, as the caller wrote it."""
    if agent_id := params.get("agentId"):
        return f"{agent_id}/{params.get('name', '')}"
    return next((str(params[key]) for key in ("id", "name") if params.get(key)), "")
