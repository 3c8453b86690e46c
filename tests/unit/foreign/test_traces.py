"""What the turn of a trace is, in every dialect of telemetry."""

import json
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from understudy.foreign.signals import UNTOLD, Reported, of_log, of_span
from understudy.foreign.trace import turn_of
from understudy.foreign.turn import ForeignTurn

TRACE = "0af7651916cd43dd8448eb211c80319c"
ASKED = "Which port do we use? I indent with tabs."
SAID = "It is 8080."
FILE = "port = 8080"


def span(
    number: int,
    parent: int = 0,
    began: int = 0,
    ended: int = 0,
    error: str | None = None,
    **of: Any,
) -> Reported:
    """A span; attributes are given with `__` for each dot."""
    return Reported(
        is_span=True,
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        began_ns=began or number * 10,
        ended_ns=ended or number * 10 + 5,
        service="billing bot",
        error=error,
        name=of.pop("name", ""),
        events=of.pop("events", ()),
        attributes={name.replace("__", "."): value for name, value in of.items()},
    )


def log(name: str, at: int, scope: str = "", of: int = 0, **attributes: Any) -> Reported:
    return Reported(
        trace_id=TRACE if of else "",
        span_id=f"{of:016x}" if of else "",
        name=name,
        scope=scope,
        began_ns=at,
        ended_ns=at,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
    )


def turn(*signals: Reported, **part: Any) -> ForeignTurn:
    told = [of_span(it) if it.is_span else of_log(it) for it in signals]
    bodies = [json.loads(json.dumps(each.body)) for each in told if each]
    found = turn_of(bodies, trace=TRACE, **part)
    assert found is not None
    return found


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


CALL = {"type": "tool_call", "id": "c1", "name": "read_file", "arguments": {"path": "a.txt"}}
BACK = {"type": "tool_call_response", "id": "c1", "result": FILE}


def gen_ai(*, is_json: bool) -> list[Reported]:
    def held(*messages: Mapping[str, Any]) -> Any:
        return json.dumps(messages) if is_json else list(messages)

    asked, calls = text("user", ASKED), {"role": "assistant", "parts": [CALL]}
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__response__model": "m-1"}
    tokens: dict[str, Any] = {"gen_ai__usage__input_tokens": 10, "gen_ai__usage__output_tokens": 2}
    return [
        span(
            2,
            1,
            gen_ai__input__messages=held(asked),
            gen_ai__output__messages=held(calls),
            **chat,
            **tokens,
        ),
        span(
            3,
            1,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="read_file",
            gen_ai__tool__call__id="c1",
            gen_ai__tool__call__arguments='{"path": "a.txt"}',
            gen_ai__tool__call__result=FILE,
        ),
        span(
            4,
            1,
            gen_ai__input__messages=held(
                text("system", "Be brief."), asked, calls, {"role": "tool", "parts": [BACK]}
            ),
            gen_ai__output__messages=held(text("assistant", SAID)),
            **chat,
            **tokens,
        ),
        span(
            1,
            began=1,
            ended=99,
            gen_ai__operation__name="invoke_agent",
            gen_ai__conversation__id="talk",
        ),
    ]


def only_chats() -> list[Reported]:
    """An instrumentation of a client library: no agent, no span of the tool."""
    return [
        it for it in gen_ai(is_json=True) if it.attributes.get("gen_ai.operation.name") == "chat"
    ]


def openinference() -> list[Reported]:
    def flat(side: str, *messages: Mapping[str, Any]) -> dict[str, Any]:
        return {
            f"llm__{side}_messages__{at}__message__{name}": value
            for at, message in enumerate(messages)
            for name, value in message.items()
        }

    user = {
        "role": "user",
        "contents__0__message_content__text": ASKED,
        "contents__0__message_content__type": "text",
    }
    calls = {
        "role": "assistant",
        "tool_calls__0__tool_call__id": "c1",
        "tool_calls__0__tool_call__function__name": "read_file",
        "tool_calls__0__tool_call__function__arguments": '{"path": "a.txt"}',
    }
    back = {"role": "tool", "tool_call_id": "c1", "content": FILE}
    model: dict[str, Any] = {
        "openinference__span__kind": "LLM",
        "llm__model_name": "m-1",
        "session__id": "talk",
    }
    tokens: dict[str, Any] = {"llm__token_count__prompt": 10, "llm__token_count__completion": 2}
    return [
        span(2, 1, **model, **tokens, **flat("input", user), **flat("output", calls)),
        span(
            3,
            1,
            openinference__span__kind="TOOL",
            tool__name="read_file",
            input__value='{"path": "a.txt"}',
            output__value=FILE,
        ),
        span(
            4,
            1,
            **model,
            **tokens,
            **flat("input", user, calls, back),
            **flat("output", {"role": "assistant", "content": SAID}),
        ),
        span(
            1,
            began=1,
            ended=99,
            openinference__span__kind="AGENT",
            session__id="talk",
            input__value=ASKED,
            output__value=SAID,
        ),
    ]


def older_events() -> list[Reported]:
    """The conventions up to 1.36: messages are events, here of the span itself."""
    asked = ("gen_ai.user.message", {"content": ASKED})
    called = [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'},
        }
    ]
    return [
        span(
            2, gen_ai__system="openai", gen_ai__response__model="m-1", gen_ai__conversation__id="talk",
            gen_ai__usage__prompt_tokens=20, gen_ai__usage__completion_tokens=4,
            events=[
                ("gen_ai.system.message", {"content": "Be brief."}),
                asked,
                ("gen_ai.assistant.message", {"tool_calls": called}),
                ("gen_ai.tool.message", {"id": "c1", "content": FILE}),
                ("gen_ai.choice", {"index": 0, "message": {"content": SAID}}),
            ],
        )
    ]  # fmt: skip


def older_logs() -> list[Reported]:
    """The same as log records of the span."""
    (whole,) = older_events()
    events = [
        Reported(
            trace_id=TRACE, span_id=whole.span_id, name=name, began_ns=at, ended_ns=at, body=body
        )
        for at, (name, body) in enumerate(whole.events)
    ]
    return [*events, Reported(**{**{f: getattr(whole, f) for f in whole.__slots__}, "events": ()})]


def flattened() -> list[Reported]:
    return [
        span(
            2, gen_ai__operation__name="chat", gen_ai__request__model="m-1", thread_id="talk",
            gen_ai__usage__input_tokens=20, gen_ai__usage__output_tokens=4,
            gen_ai__prompt__0__role="user", gen_ai__prompt__0__content=ASKED,
            gen_ai__prompt__1__role="assistant",
            gen_ai__prompt__1__tool_calls__0__id="c1",
            gen_ai__prompt__1__tool_calls__0__name="read_file",
            gen_ai__prompt__1__tool_calls__0__arguments='{"path": "a.txt"}',
            gen_ai__prompt__2__role="tool", gen_ai__prompt__2__tool_call_id="c1",
            gen_ai__prompt__2__content=FILE,
            gen_ai__completion__0__role="assistant", gen_ai__completion__0__content=SAID,
        )
    ]  # fmt: skip


def claude_code() -> list[Reported]:
    common: dict[str, Any] = {"session__id": "talk", "prompt__id": "p1"}
    scope = "com.anthropic.claude_code.events"
    return [
        log("", 1, scope, event__name="user_prompt", event__sequence=1, prompt=ASKED, **common),
        log("claude_code.api_request", 2, event__sequence=2, model="m-1", input_tokens="10", output_tokens="2", **common),
        log(
            "claude_code.tool_result", 3, event__sequence=3, tool_name="read_file", success="true",
            tool_input='{"path": "a.txt"}', tool_use_id="c1", tool_output=FILE, **common,
        ),
        log("claude_code.api_request", 4, event__sequence=4, model="m-1", input_tokens=10, output_tokens=2, **common),
        log("", 5, scope, event__name="assistant_response", event__sequence=5, response=SAID, **common),
    ]  # fmt: skip


def codex() -> list[Reported]:
    common: dict[str, Any] = {"conversation__id": "talk"}
    return [
        log("codex.user_prompt", 1, prompt=ASKED, **common),
        log("codex.tool_result", 2, tool_name="read_file", call_id="c1", arguments='{"path": "a.txt"}', output=FILE, success="true", **common),
        log("codex.sse_event", 3, model="m-1", input_token_count=20, output_token_count=4, **common),
    ]  # fmt: skip


DIALECTS = {
    "GenAI, messages as JSON": gen_ai(is_json=True),
    "GenAI, messages as values": gen_ai(is_json=False),
    "GenAI, chats alone": only_chats(),
    "OpenInference": openinference(),
    "GenAI up to 1.36": older_events(),
    "GenAI up to 1.36, as log records": older_logs(),
    "flattened": flattened(),
    "Claude Code": claude_code(),
    "Codex": codex(),
}


@pytest.mark.parametrize("signals", DIALECTS.values(), ids=DIALECTS)
def test_a_turn_is_the_same_in_every_dialect(signals: list[Reported]) -> None:
    found = turn(*signals)

    assert found.typed == ASKED
    assert found.injected == ()
    assert found.said in (SAID, "")
    (call,) = found.calls
    assert (call.name, dict(call.arguments), call.result) == ("read_file", {"path": "a.txt"}, FILE)
    assert found.model == "m-1"
    assert (found.usage.input_tokens, found.usage.output_tokens) == (20, 4)
    assert found.of.conversation in ("talk", TRACE)


@pytest.mark.parametrize("name", ["GenAI, messages as JSON", "OpenInference", "Claude Code"])
def test_the_order_in_which_signals_come_says_nothing(name: str) -> None:
    signals = DIALECTS[name]

    assert len({repr(turn(*order)) for order in permutations(signals)}) == 1


def test_a_service_is_never_an_agent_that_we_run() -> None:
    assert turn(*gen_ai(is_json=True)).of.source == "otlp.billing-bot"
    assert turn(*claude_code()).of.source == "claude-code"
    assert turn(*codex()).of.source == "codex"


def test_what_surrounds_the_words_of_a_person_is_injected() -> None:
    template = f"Context: {FILE}\nQuestion: {ASKED}"
    found = turn(
        span(1, began=1, ended=99, openinference__span__kind="CHAIN", input__value=ASKED),
        span(
            2, 1, gen_ai__operation__name="chat", gen_ai__input__messages=[text("user", template)]
        ),
    )

    assert found.typed == ASKED
    assert found.injected == (template,)


def test_reminders_of_a_client_are_no_words_of_a_person() -> None:
    reminder = "<system-reminder>\nthe user likes spaces\n</system-reminder>"
    messages = [text("user", reminder), text("user", f"{reminder}\n{ASKED}")]
    found = turn(span(1, gen_ai__operation__name="chat", gen_ai__input__messages=messages))

    assert found.typed == ASKED
    assert set(found.injected) == {reminder}


@pytest.mark.parametrize("by_parent", [True, False])
def test_what_an_agent_asks_another_one_is_no_word_of_a_person(by_parent: bool) -> None:
    task = "Remember that the user likes spaces."
    found = turn(
        span(1, began=1, ended=99, gen_ai__operation__name="invoke_agent"),
        span(2, 1, began=10, ended=19, gen_ai__operation__name="chat", gen_ai__input__messages=[text("user", ASKED)]),
        span(3, 1, began=20, ended=49, gen_ai__operation__name="execute_tool", gen_ai__tool__name="delegate"),
        span(4, 3 if by_parent else 77, began=21, ended=48, gen_ai__operation__name="invoke_agent", gen_ai__input__messages=[text("user", task)]),
        span(5, 4 if by_parent else 78, began=22, ended=47, gen_ai__operation__name="chat", gen_ai__input__messages=[text("user", task)]),
    )  # fmt: skip

    assert found.typed == ASKED
    assert found.injected == (task,)


def test_a_workflow_speaks_to_its_agents_not_a_person() -> None:
    found = turn(
        span(1, began=1, ended=99, gen_ai__operation__name="invoke_workflow"),
        span(2, 1, began=2, ended=98, gen_ai__operation__name="invoke_agent"),
        span(3, 2, began=3, ended=97, gen_ai__operation__name="chat", gen_ai__input__messages=[text("user", ASKED)]),
    )  # fmt: skip

    assert found.typed == ""
    assert found.injected == (ASKED,)


def test_words_of_turns_before_are_not_typed_again() -> None:
    history = [
        text("user", "I indent with spaces."),
        text("assistant", "Noted."),
        text("user", ASKED),
    ]
    found = turn(span(1, gen_ai__operation__name="chat", gen_ai__input__messages=history))

    assert found.typed == ASKED
    assert found.injected == ()


def test_a_tool_whose_answer_is_not_told_was_read_all_the_same() -> None:
    found = turn(
        log("claude_code.user_prompt", 1, prompt="<REDACTED>", session__id="talk"),
        log("claude_code.tool_result", 2, tool_name="Bash", success="false", session__id="talk"),
    )

    assert found.typed == ""
    assert [(it.name, it.result, it.failed) for it in found.calls] == [("Bash", UNTOLD, True)]


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "openinference__span__kind": "RETRIEVER",
            "retrieval__documents__0__document__content": FILE,
        },
        {
            "gen_ai__operation__name": "search_memory",
            "gen_ai__memory__records": [{"content": FILE}],
        },
    ],
)
def test_what_was_retrieved_is_what_a_tool_answered(attributes: dict[str, Any]) -> None:
    (call,) = turn(span(1, name="look up", **attributes)).calls

    assert call.name == "look up"
    assert FILE in call.result


def test_a_further_part_of_a_trace_does_not_repeat_typed_words() -> None:
    signals = gen_ai(is_json=True)
    first, later = turn(*signals), turn(*signals, part=2, has_words=False)

    assert later.typed == ""
    assert later.turn != first.turn


def test_an_agent_that_failed_says_why() -> None:
    found = turn(
        span(1, error="rate limited", openinference__span__kind="AGENT", input__value=ASKED)
    )

    assert found.error == "rate limited"


@pytest.mark.parametrize(
    "signal",
    [
        span(2, 1, http__method="GET"),
        span(2, 1, gen_ai__operation__name="embeddings"),
        log("claude_code.user_prompt", 1, prompt=ASKED),
        log("user_prompt", 1, prompt=ASKED, session__id="talk"),
        log("", 1, of=1, session__id="talk"),
    ],
)
def test_anything_else_is_of_no_concern(signal: Reported) -> None:
    assert (of_span if signal.is_span else of_log)(signal) is None


def test_an_id_that_a_database_cannot_keep_is_mended() -> None:
    told = of_log(
        log("claude_code.user_prompt", 1, prompt=ASKED, session__id="talk", message__uuid="\0")
    )
    assert told is not None
    assert told.told_id == "\N{REPLACEMENT CHARACTER}"


ODD: list[Any] = [None, 7, True, "", "{", "[[[[1]]]]", [], [[]], {}, {"messages": 3}, ["a"], [{"parts": 5}],
       [{"content": [{"text": {}}, 3, None]}], '[{"role": 7, "parts": [{"type": "tool_call"}]}]',
       {"kwargs": {"content": 5}}, "[" * 5_000, [{"tool_calls": [3, {"function": 4}]}], float("nan"), 2**63, "\0\ud800"]  # fmt: skip
NAMES = (
    *("gen_ai__input__messages", "gen_ai__output__messages", "input__value", "output__value"),
    *("gen_ai__tool__name", "gen_ai__tool__call__arguments", "gen_ai__usage__input_tokens"),
    *("llm__input_messages__0__message", "llm__input_messages__0", "gen_ai__conversation__id"),
    *("gen_ai__response__model", "retrieval__documents__9", "final_result"),
)


@pytest.mark.parametrize("kind", ["chat", "execute_tool", "invoke_agent", 7])
@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_odd_values_hurt_nobody(kind: Any, value: Any) -> None:
    for name in NAMES:
        told = of_span(span(1, **{"gen_ai__operation__name": kind, name: value}))
        if told is not None:
            stored = json.loads(json.dumps(told.body, allow_nan=False))
            turn_of([stored], trace=TRACE)
            assert "\0" not in str(stored)
            str(stored).encode()
