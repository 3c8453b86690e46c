"""Agent2Agent, as its official client meets it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a import types as wire
from a2a.client import A2AClientError, Client, ClientConfig, create_client
from a2a.helpers.proto_helpers import get_artifact_text, get_message_text, new_text_message
from a2a.utils import errors

from tests.api.conftest import ADMIN
from tests.api.live import Live, live_daemon
from understudy.testing.answers import Answer, call

State = wire.TaskState
ASK_FIRST = {"rules": [{"tool": "write_file", "decision": "ask"}]}
WRITE = {"path": "note.txt", "content": "hello\n"}
RPC: dict[str, Any] = {"jsonrpc": "2.0", "id": 7}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A daemon that wants tokens, and an admin of it."""
    home = tmp_path_factory.mktemp("a2a") / "home"
    with live_daemon(home, UNDERSTUDY_ADMIN_TOKEN=ADMIN) as live:
        live.client.headers["authorization"] = f"Bearer {ADMIN}"
        yield live


@pytest.fixture
def live(served: Live) -> Iterator[Live]:
    yield served
    served.model.forget()


@asynccontextmanager
async def client_of(
    live: Live, token: str = ADMIN, *, stream: bool = False
) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(headers=headers, timeout=20, trust_env=False) as http:
        config = ClientConfig(streaming=stream, httpx_client=http)
        async with await create_client(str(live.client.base_url), config) as client:
            yield client


def token_of(live: Live, user_id: str, role: str) -> str:
    token: str = live.ok("POST", "/v1/tokens", {"user_id": user_id, "role": role})["token"]
    return token


def asked(text: str, *, context: str = "", at_once: bool = False, **more: Any) -> Any:
    message = new_text_message(text, role=wire.Role.ROLE_USER, context_id=context or None)
    request = wire.SendMessageRequest(message=message, **more)
    request.configuration.return_immediately = at_once
    return request


async def task_of(client: Client, request: Any) -> wire.Task:
    (answer,) = [it async for it in client.send_message(request)]
    return answer.task


def text_of(task: wire.Task) -> str:
    return "\n".join(get_artifact_text(it) for it in task.artifacts)


async def waiting(live: Live, client: Client, context: str) -> wire.Task:
    """A task that waits for the approval of a file."""
    live.session(context)
    live.ok("PUT", f"/v1/sessions/{context}/permissions", ASK_FIRST)
    live.model.queue(call("write_file", WRITE), Answer(text="It is written."))
    return await task_of(client, asked("write it", context=context))


async def test_the_card_says_where_tasks_are_sent_and_tells_nothing_of_what_is_inside(
    live: Live,
) -> None:
    live.ok("POST", "/v1/agents", {"agent_id": "clerk", "agent_type": "open"})
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(f"{live.client.base_url}/.well-known/agent-card.json")
    card = answer.json()
    (interface,) = card["supportedInterfaces"]
    assert interface["protocolVersion"] == "1.0"
    assert interface["url"] == f"{live.client.base_url}/a2a"
    assert card["capabilities"]["streaming"] is True
    assert "clerk" not in answer.text


async def test_a_message_is_a_run_of_an_agent_in_a_session(live: Live) -> None:
    live.model.queue(Answer(text="Hello, Ada."), Answer(text="You are Ada."))
    async with client_of(live) as client:
        first = await task_of(client, asked("I am Ada"))
        assert first.status.state == State.TASK_STATE_COMPLETED
        assert text_of(first) == "Hello, Ada."
        second = await task_of(client, asked("Who am I?", context=first.context_id))
        assert second.context_id == first.context_id
        said = [turn.text for turn in live.model.requests[-1].turns if turn.role == "user"]
        assert said == ["I am Ada", "Who am I?"]
        again = await client.get_task(wire.GetTaskRequest(id=first.id))
        assert again == first
        live.ok("POST", "/v1/agents", {"agent_id": "scribe", "agent_type": "open"})
        other = await task_of(client, asked("hi", tenant="scribe"))
        assert live.ok("GET", f"/v1/runs/{other.id}")["agent_id"] == "scribe"
        with pytest.raises(errors.InvalidParamsError, match="nobody"):
            await task_of(client, asked("hi", tenant="nobody"))


async def test_what_another_agent_sends_is_passed_on_whatever_its_token(live: Live) -> None:
    bot = token_of(live, "bot", "client")
    for token in (ADMIN, bot):
        async with client_of(live, token) as client:
            task = await task_of(client, asked("Remember that we deploy on Fridays."))
        with live.daemon.resources.units.read() as unit:
            assert list(unit.runs.taints(task.id)) == ["passed_on"]


async def test_the_same_message_again_is_the_same_task(live: Live) -> None:
    request = asked("once")
    async with client_of(live) as client:
        first = await task_of(client, request)
        assert (await task_of(client, request)).id == first.id
        request.message.parts[0].text = "something else"
        with pytest.raises(errors.UnsupportedOperationError):
            await task_of(client, request)


async def test_a_stream_is_the_task_its_text_and_its_end(live: Live) -> None:
    live.model.queue(Answer(text="one two three"))
    async with client_of(live, stream=True) as client:
        events = [it async for it in client.send_message(asked("count"))]
        assert events[0].HasField("task")
        pieces = [it.artifact_update for it in events if it.HasField("artifact_update")]
        assert "".join(get_artifact_text(it.artifact) for it in pieces) == "one two three"
        assert [it.append for it in pieces] == [False] + [True] * (len(pieces) - 1)
        assert pieces[-1].last_chunk
        assert events[-1].status_update.status.state == State.TASK_STATE_COMPLETED
        ended = wire.SubscribeToTaskRequest(id=events[0].task.id)
        with pytest.raises(errors.UnsupportedOperationError):
            _ = [it async for it in client.subscribe(ended)]


async def test_a_task_that_waits_says_where_to_decide_and_is_followed_to_its_end(
    live: Live,
) -> None:
    async with client_of(live) as client:
        task = await waiting(live, client, "desk")
        assert task.status.state == State.TASK_STATE_INPUT_REQUIRED
        told = get_message_text(task.status.message)
        assert f"{live.client.base_url}/runs/{task.id}" in told
        assert "write_file" in told
        with pytest.raises(errors.UnsupportedOperationError, match="approv"):
            await task_of(client, asked("go on", context="desk"))
        reply = asked("allowed", context="desk")
        reply.message.task_id = task.id
        with pytest.raises(errors.UnsupportedOperationError, match="approv"):
            await task_of(client, reply)
        (request_id,) = live.ok("GET", f"/v1/runs/{task.id}")["pending_approval_ids"]
        body = {"resolutions": [{"request_id": request_id, "behavior": "allow"}]}
        live.ok("POST", f"/v1/runs/{task.id}/approvals", body)
        live.finished(task.id)
        ended = await client.get_task(wire.GetTaskRequest(id=task.id))
        assert (ended.status.state, text_of(ended)) == (
            State.TASK_STATE_COMPLETED,
            "It is written.",
        )


async def test_a_task_is_cancelled_once(live: Live) -> None:
    async with client_of(live) as client:
        task = await waiting(live, client, "shop")
        stopped = await client.cancel_task(wire.CancelTaskRequest(id=task.id))
        assert stopped.status.state == State.TASK_STATE_CANCELED
        with pytest.raises(errors.TaskNotCancelableError):
            await client.cancel_task(wire.CancelTaskRequest(id=task.id))


async def test_a_task_is_answered_at_once_if_so_asked(live: Live) -> None:
    async with client_of(live) as client:
        task = await task_of(client, asked("later", at_once=True))
        assert task.status.state in (State.TASK_STATE_SUBMITTED, State.TASK_STATE_WORKING)
    live.finished(task.id)


async def test_a_caller_without_the_right_sees_and_starts_nothing(live: Live) -> None:
    async with client_of(live) as client:
        task = await task_of(client, asked("mine"))
    before = len(live.ok("GET", "/v1/runs?limit=200")["items"])
    async with client_of(live, "nobody's") as stranger:
        with pytest.raises(A2AClientError, match="401"):
            await task_of(stranger, asked("hi"))
    async with client_of(live, token_of(live, "vera", "viewer")) as viewer:
        assert (await viewer.get_task(wire.GetTaskRequest(id=task.id))).id == task.id
        with pytest.raises(A2AClientError, match="403"):
            await task_of(viewer, asked("hi"))
        with pytest.raises(A2AClientError, match="403"):
            await viewer.cancel_task(wire.CancelTaskRequest(id=task.id))
    async with client_of(live, token_of(live, "bot", "client"), stream=True) as bot:
        with pytest.raises(errors.TaskNotFoundError):
            await bot.get_task(wire.GetTaskRequest(id=task.id))
        with pytest.raises(errors.TaskNotFoundError):
            await bot.cancel_task(wire.CancelTaskRequest(id=task.id))
        with pytest.raises(errors.TaskNotFoundError):
            _ = [it async for it in bot.subscribe(wire.SubscribeToTaskRequest(id=task.id))]
        with pytest.raises(errors.A2AError):
            _ = [it async for it in bot.send_message(asked("hi", context=task.context_id))]
    assert len(live.ok("GET", "/v1/runs?limit=200")["items"]) == before


PART = {"text": "hi"}
MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [PART]}


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"no json", -32700),
        (b"", -32700),
        (b"[" * 5_000, -32700),
        (b"[]", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": {}}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', -32600),
        ({"method": "message/send", "params": {}}, -32601),
        ({"method": "SendMessage"}, -32602),
        ({"method": "SendMessage", "params": []}, -32602),
        ({"method": "SendMessage", "params": {"message": {**MESSAGE, "parts": []}}}, -32602),
        ({"method": "SendMessage", "params": {"message": {**MESSAGE, "messageId": ""}}}, -32602),
        (
            {"method": "SendMessage", "params": {"message": {**MESSAGE, "contextId": "x" * 9_000}}},
            -32602,
        ),
        (
            {"method": "SendMessage", "params": {"message": {**MESSAGE, "parts": [{"text": ""}]}}},
            -32602,
        ),
        (
            {
                "method": "SendMessage",
                "params": {"message": {**MESSAGE, "parts": [{"raw": "aGk="}]}},
            },
            -32005,
        ),
        (
            {
                "method": "SendMessage",
                "params": {
                    "message": MESSAGE,
                    "configuration": {"taskPushNotificationConfig": {"url": "http://x.test"}},
                },
            },
            -32003,
        ),
        ({"method": "GetTask", "params": {"id": "run_nothing"}}, -32001),
        ({"method": "GetTask", "params": {"id": "x" * 9_000}}, -32001),
        ({"method": "ListTasks", "params": {}}, -32004),
        ({"method": "GetExtendedAgentCard", "params": {}}, -32004),
    ],
)
def test_a_bad_call_is_refused_in_the_shape_of_the_protocol(
    live: Live, sent: Any, code: int
) -> None:
    options: dict[str, Any] = {"content": sent} if isinstance(sent, bytes) else {"json": RPC | sent}
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    answer = live.client.post("/a2a", headers=headers, **options)
    assert answer.status_code < 500, answer.text
    assert answer.json()["error"]["code"] == code, answer.text
    assert answer.json()["jsonrpc"] == "2.0"


def test_a_stranger_is_refused_in_the_shape_of_the_protocol(live: Live) -> None:
    sent = RPC | {"method": "GetTask", "params": {"id": "run_nothing"}}
    answer = live.client.post("/a2a", json=sent, headers={"authorization": "Bearer nobody's"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, -32600)
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_another_version_of_the_protocol_is_refused(live: Live) -> None:
    sent = RPC | {"method": "GetTask", "params": {"id": "run_nothing"}}
    assert live.client.post("/a2a", json=sent).json()["error"]["code"] == -32009
