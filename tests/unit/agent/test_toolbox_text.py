"""What the model gets to see of tools and what is captured of requests."""

from understudy.agent.model_call import request_json
from understudy.providers.base import (
    AssistantMessage,
    ModelRequest,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from understudy.runs.artifacts import END_CHARS, MAX_SHOWN_CHARS, cut


def test_a_longer_result_keeps_its_beginning_and_end_and_names_the_whole() -> None:
    content = "a" * MAX_SHOWN_CHARS + "z" * END_CHARS

    shown = cut(content, "art_1")

    assert shown.startswith("a" * (MAX_SHOWN_CHARS - END_CHARS) + "\n[cut: ")
    assert shown.endswith("z" * END_CHARS)
    assert str(len(content)) in shown
    assert "art_1" in shown


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
