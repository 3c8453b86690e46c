"""What the model gets to see of tools and what is captured of requests."""

from understudy.agent.capture import request_json
from understudy.agent.toolbox import MAX_RESULT_CHARS, bounded
from understudy.providers.base import (
    AssistantMessage,
    ModelRequest,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)


def test_a_result_within_the_limit_is_given_whole() -> None:
    assert bounded("x" * MAX_RESULT_CHARS) == "x" * MAX_RESULT_CHARS


def test_a_longer_result_is_cut_and_says_how_long_it_was() -> None:
    cut = bounded("x" * (MAX_RESULT_CHARS + 1))

    assert cut.startswith("x" * MAX_RESULT_CHARS + "\n[cut: ")
    assert str(MAX_RESULT_CHARS + 1) in cut


def test_a_request_is_shown_in_the_form_of_provider_apis() -> None:
    call = ToolCall(call_id="c1", name="read_file", arguments="{}")
    request = ModelRequest(
        model="m",
        system="be kind",
        messages=(
            UserMessage(text="hi"),
            AssistantMessage(text="", tool_calls=(call,)),
            ToolMessage(call_id="c1", name="read_file", content="x"),
        ),
        tools=(ToolSpec(name="read_file", description="reads", parameters={"type": "object"}),),
        generation={"temperature": 0},
    )

    assert request_json(request) == {
        "model": "m",
        "system": "be kind",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"call_id": "c1", "name": "read_file", "arguments": "{}"}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
        ],
        "tools": [{"name": "read_file", "description": "reads", "parameters": {"type": "object"}}],
        "generation": {"temperature": 0},
    }
