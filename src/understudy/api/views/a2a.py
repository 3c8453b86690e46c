"""Agent2Agent: a task is a run, a context is a session, a tenant is an agent."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import structlog
from a2a import types as wire
from a2a.server.request_handlers import RequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.utils import errors
from a2a.utils.proto_utils import validate_proto_required_fields
from fastapi.sse import format_sse_event
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.api.openai_door import OpenAIDoor
from understudy.api.problems import A2A_PATH, refusal_of
from understudy.api.services import open_streams_of, principal_of, services_of
from understudy.api.sse import Position, RunStreamState, StreamFrame, run_frames, stream_response
from understudy.api.submissions import SETTLED, settled
from understudy.core.errors import coded_error
from understudy.core.showable import showable
from understudy.runs.lifecycle import TERMINAL, WAITING
from understudy.runs.model import Run, RunStatus
from understudy.runs.service import RunDetail
from understudy.runs.submission import Submission, hash_key
from understudy.sessions.creation import NewSession
from understudy.wire.events import DELTA, DELTA_RESET, OUTPUT, RUN_UPDATED

log = structlog.get_logger()
TEXT: Final = "text/plain"
STATES: Final[Mapping[RunStatus, wire.TaskState]] = {
    RunStatus.QUEUED: wire.TaskState.TASK_STATE_SUBMITTED,
    RunStatus.RUNNING: wire.TaskState.TASK_STATE_WORKING,
    RunStatus.COMPLETED: wire.TaskState.TASK_STATE_COMPLETED,
    RunStatus.FAILED: wire.TaskState.TASK_STATE_FAILED,
    RunStatus.INTERRUPTED: wire.TaskState.TASK_STATE_CANCELED,
    RunStatus.CANCELLED: wire.TaskState.TASK_STATE_CANCELED,
    **dict.fromkeys(WAITING, wire.TaskState.TASK_STATE_INPUT_REQUIRED),
}
# What is refused, by code or status, as an error of the protocol; the rest is a wrong parameter.
ERRORS: Final[Mapping[object, type[errors.A2AError]]] = {
    "runs/run_not_found": errors.TaskNotFoundError,
    409: errors.UnsupportedOperationError,
}


async def answer_of(request: Request) -> Response:
    """What the library answers; a stream as the daemon sends its own."""
    (route,) = create_jsonrpc_routes(A2ATasks(request), A2A_PATH)
    answer: Response = await route.endpoint(request)
    if not isinstance(answer, EventSourceResponse):
        return answer
    told: AsyncIterator[Any] = aiter(answer.body_iterator)
    return stream_response(
        format_sse_event(data_str=it["data"], event=it.get("event")) async for it in told
    )


class A2ATasks(RequestHandler):
    """The methods for one request. It keeps nothing: the runs are the record."""

    def __init__(self, request: Request) -> None:
        self._request, self._services = request, services_of(request)
        self._runs = self._services.runs.service
        self._door = OpenAIDoor(self._services, principal_of(request), str(request.base_url))

    async def on_message_send(self, params: Any, context: Any) -> wire.Task:
        """Submit a run; the task once it has ended or waits, or at once if so asked."""
        with self._told(params):
            detail = await run_in_threadpool(self._submitted, params)
            if not params.configuration.return_immediately:
                with open_streams_of(self._request).counted(self._door.caller.user_id):
                    detail = await settled(self._services, self._request, detail)
            return self._task(detail)

    async def on_message_send_stream(self, params: Any, context: Any) -> AsyncGenerator[Any]:
        """Submit a run, and follow it."""
        with self._told(params):
            run = (await run_in_threadpool(self._submitted, params)).run
        async for event in self.on_subscribe_to_task(wire.SubscribeToTaskRequest(id=run.run_id)):
            yield event

    async def on_subscribe_to_task(self, params: Any, context: Any = None) -> AsyncGenerator[Any]:
        """Follow a run from its beginning on, until it has ended or waits for a person."""
        with self._told(params):
            detail = await run_in_threadpool(self._runs.get, params.id)
            if detail.run.status in TERMINAL:
                raise errors.UnsupportedOperationError("this task has ended; get it")
            run, said = detail.run, set[int]()
            ids: dict[str, Any] = {"task_id": run.run_id, "context_id": run.session_id}
            yield wire.Task(id=run.run_id, context_id=run.session_id, status=self._status(detail))
            async for frame in self._frames(run):
                if frame is None or frame.event == RUN_UPDATED:
                    detail = await run_in_threadpool(self._runs.get, run.run_id)
                    yield wire.TaskStatusUpdateEvent(**ids, status=self._status(detail))
                    if detail.run.status in SETTLED:
                        return
                elif frame.event in (DELTA, DELTA_RESET, OUTPUT):
                    # What one step says is one artifact; begun again, it replaces the first.
                    step, is_over = frame.data["step"], frame.event == OUTPUT
                    data = {"step": step} if is_over and step in said else frame.data
                    event = wire.TaskArtifactUpdateEvent(**ids, artifact=_artifact(data))
                    event.append = step in said and frame.event != DELTA_RESET
                    event.last_chunk = is_over
                    yield event
                    said = said - {step} if frame.event == DELTA_RESET else said | {step}
            raise coded_error("readiness/daemon_draining:run", run_id=run.run_id)

    async def on_get_task(self, params: Any, context: Any) -> wire.Task:
        """A run as it is now."""
        with self._told(params):
            return self._task(await run_in_threadpool(self._runs.get, params.id))

    async def on_cancel_task(self, params: Any, context: Any) -> wire.Task:
        """Stop a run for good."""
        with self._told(params):
            if (await run_in_threadpool(self._runs.get, params.id)).run.status in TERMINAL:
                raise errors.TaskNotCancelableError("this task has ended")
            run = (await run_in_threadpool(self._runs.cancel, self._door.caller, params.id)).run
            async for _ in self._frames(run):
                pass
            return self._task(await run_in_threadpool(self._runs.get, params.id))

    async def _unsupported(self, params: Any, context: Any) -> Any:
        raise errors.UnsupportedOperationError("not served; runs and agents are listed under /v1")

    async def _no_push(self, params: Any, context: Any) -> Any:
        raise errors.PushNotificationNotSupportedError

    on_list_tasks = on_get_extended_agent_card = _unsupported
    on_create_task_push_notification_config = on_get_task_push_notification_config = _no_push
    on_list_task_push_notification_configs = on_delete_task_push_notification_config = _no_push

    @contextmanager
    def _told(self, params: Any) -> Iterator[None]:
        """Check what is asked, and tell an error in the words of the protocol."""
        validate_proto_required_fields(params)
        try:
            yield
        except errors.A2AError:
            raise
        except Exception as error:
            refusal = refusal_of(error).spoken(self._request.scope)
            if refusal.status >= 500:
                log.exception("a2a.failed", reason=refusal.reason)
                raise errors.InternalError(refusal.detail) from error
            kind = ERRORS.get(refusal.reason) or ERRORS.get(refusal.status)
            raise (kind or errors.InvalidParamsError)(refusal.detail) from error

    def _frames(self, run: Run) -> AsyncIterator[StreamFrame | None]:
        state = RunStreamState(position=Position())
        return run_frames(self._services, run.run_id, run.session_id, state)

    def _submitted(self, params: wire.SendMessageRequest) -> RunDetail:
        """The run of a message; the same message again finds the first."""
        message, caller = params.message, self._door.caller
        if params.configuration.HasField("task_push_notification_config"):
            raise errors.PushNotificationNotSupportedError
        if any(part.WhichOneof("content") != "text" for part in message.parts):
            raise errors.ContentTypeNotSupportedError(f"every part must be {TEXT}")
        if message.task_id:
            told = self._door.waits(self._runs.get(message.task_id)) or "Name its contextId alone."
            raise errors.UnsupportedOperationError(f"a task takes no more messages. {told}")
        mine = f"a2a-{hash_key(caller.user_id, message.message_id)[:26]}"
        session_id, agent_id = message.context_id or mine, params.tenant or None
        if not params.configuration.return_immediately:
            with self._services.resources.units.read() as unit:
                self._door.refuse_waiting(unit, session_id)
        self._services.sessions.create(caller, NewSession(session_id=session_id, agent_id=agent_id))
        # Another agent speaks here, and no person.
        text = "\n\n".join(part.text for part in message.parts)
        given = Submission(content=text, source_plugin="a2a", source_kind="agent")
        return self._runs.submit(caller, session_id, given, idempotency_key=mine)

    def _task(self, detail: RunDetail) -> wire.Task:
        run, artifacts = detail.run, [_artifact(it.data) for it in detail.outputs]
        task = wire.Task(id=run.run_id, context_id=run.session_id, artifacts=artifacts)
        task.status.CopyFrom(self._status(detail))
        return task

    def _status(self, detail: RunDetail) -> wire.TaskStatus:
        """The state of a run, with why it failed, or what it waits for and where to decide."""
        run, status = detail.run, wire.TaskStatus(state=STATES[detail.run.status])
        if told := self._door.waits(detail) or run.error:
            status.message.message_id = f"{run.run_id}.{run.status}"
            status.message.role = wire.Role.ROLE_AGENT
            status.message.parts.append(wire.Part(text=str(showable(told)), media_type=TEXT))
        return status


def _artifact(said: Mapping[str, Any]) -> wire.Artifact:
    text = wire.Part(text=str(showable(said.get("text", ""))), media_type=TEXT)
    return wire.Artifact(artifact_id=f"step-{said['step']}", parts=[text])
