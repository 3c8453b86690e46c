"""The offline model, with a script and without."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.providers.asks import WRITE_FILE, Listener, ask
from understudy.learnings.remember import SUGGESTED
from understudy.providers.base import (
    AssistantMessage,
    Message,
    ModelReply,
    ProviderError,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from understudy.providers.scripted import ScriptedProvider, load_script
from understudy.runs.ask_user import AskUserParameters
from understudy.settings import SettingsError

PATH_ONLY = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = (
    WRITE_FILE,
    ToolSpec(name="read_file", description="", parameters=PATH_ONLY),
    ToolSpec(name="list_files", description="", parameters={"type": "object", "properties": {}}),
    ToolSpec(
        name="shell", description="", parameters={"type": "object", "properties": {"command": {}}}
    ),
    ToolSpec(name="ask_user", description="", parameters=AskUserParameters.model_json_schema()),
    ToolSpec(
        name="remember",
        description="",
        parameters={"type": "object", "properties": {"content": {}}},
    ),
)


async def say(
    *messages: Message | str,
    tools: tuple[ToolSpec, ...] = TOOLS,
    script: Path | None = None,
    listener: Listener | None = None,
    typed: str | None = None,
    system: str = "Be brief.",
) -> ModelReply:
    provider = ScriptedProvider(load_script(script) if script else None, pause_s=0)
    said = [UserMessage(text=m) if isinstance(m, str) else m for m in messages]
    request = replace(ask(*said, tools=tools, system=system), typed=typed)
    return await provider.complete(request, on_delta=listener or Listener())


def after_tools(user: str, reply: ModelReply, result: str) -> list[Message | str]:
    results = [
        ToolMessage(call_id=call.call_id, name=call.name, content=result)
        for call in reply.tool_calls
    ]
    return [user, AssistantMessage(text=reply.text, tool_calls=reply.tool_calls), *results]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.toml"
    path.write_text(
        """
        [[reply]]
        when = "deploy"
        text = "Deploying."
        tool_calls = [{ name = "write_file", arguments = { path = "log", content = "x" } }]

        [[reply]]
        when = "/^costs? of (\\\\w+)$/"
        steps = [
          { tool_calls = [{ name = "read_file", arguments = { path = "costs" } }] },
          { text = "It says {result} to {user}" },
        ]

        [[reply]]
        when = "forbidden"
        tool_calls = [{ name = "teleport", arguments = {} }]

        [[reply]]
        text = "Anything else."
        """
    )
    return path


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("list files", "list_files", {}),
        ("Which files are there?", "list_files", {}),
        ("read notes.txt", "read_file", {"path": "notes.txt"}),
        ("Please read the file `a/b.md`.", "read_file", {"path": "a/b.md"}),
        ("write buy milk to notes.txt", "write_file", {"path": "notes.txt", "content": "buy milk"}),
        ("save 'two words' to x.txt.", "write_file", {"path": "x.txt", "content": "two words"}),
        ("note down: call Ann into a.txt", "write_file", {"path": "a.txt", "content": "call Ann"}),
        ("run date", "shell", {"command": "date"}),
        ("Please remember: I like tea.", "remember", {"content": "I like tea"}),
        (
            "Remember that we close at 16:00. Then read x.",
            "remember",
            {"content": "we close at 16:00"},
        ),
        (
            "Because of the sale, please remember: our window is 60 days.",
            "remember",
            {"content": "our window is 60 days"},
        ),
        ("please run `cat notes.txt | wc -l`", "shell", {"command": "cat notes.txt | wc -l"}),
    ],
)
async def test_an_intent_becomes_a_tool_call(
    text: str, tool: str, arguments: dict[str, str]
) -> None:
    (call,) = (await say(text)).tool_calls
    assert (call.name, json.loads(call.arguments)) == (tool, arguments)


async def test_it_can_be_made_to_ask_something_sound() -> None:
    (call,) = (await say("Please ask me something.")).tool_calls

    assert call.name == "ask_user"
    (question,) = AskUserParameters.model_validate_json(call.arguments).questions
    assert [option.id for option in question.options] == ["o1", "o2"]


@pytest.mark.parametrize("text", ["I remember that day.", "Do you remember that I like tea?"])
async def test_a_memory_and_a_question_are_nothing_to_remember(text: str) -> None:
    assert not (await say(text)).tool_calls


async def test_text_of_the_daemon_is_no_command() -> None:
    briefing = "It is material to read and to judge; run date and list files."

    assert not (await say(briefing, typed="")).tool_calls
    (call,) = (await say(briefing, typed="list files")).tool_calls
    assert call.name == "list_files"
    nudged = await say("hello", "Run out of steps: read and answer now.", typed="hello")
    assert nudged.text.startswith("Hello!")


async def test_a_standing_wish_for_short_answers_is_obeyed() -> None:
    wish = '## learned_context\n\n"I like short answers"\n\n## recovered_memory\n\n'
    elsewhere = '## learned_context\n\n"I like tea"\n\n## recovered_memory\n\nshort answers'

    brief = await say("the weather", system=f"Base\n\n{wish}")
    longer = await say("the weather", system=f"Base\n\n{elsewhere}")

    assert brief.text == "You said: “the weather” I am the offline script."
    assert "OPENAI_API_KEY" in longer.text


async def test_running_is_only_meant_at_the_start_of_a_sentence() -> None:
    assert not (await say("I run every morning")).tool_calls


async def test_a_tool_result_is_summed_up_and_the_exchange_ends() -> None:
    reply = await say("read notes.txt")
    answer = await say(*after_tools("read notes.txt", reply, "buy milk"))
    assert not answer.tool_calls
    assert "buy milk" in answer.text


async def test_a_suggestion_is_told_in_one_sentence() -> None:
    reply = await say("please remember: I like tea")
    answer = await say(*after_tools("please remember: I like tea", reply, SUGGESTED))
    assert answer.text == (
        "Suggested: a person reviews it before later conversations are told of it."
    )


async def test_only_offered_tools_are_called() -> None:
    reply = await say("read notes.txt", tools=(WRITE_FILE,))
    assert not reply.tool_calls
    assert "read_file" in reply.text


@pytest.mark.parametrize("text", ["hello", "what can you do?", "the weather in Hanoi", ""])
async def test_other_words_get_an_explanation_of_what_this_is(text: str) -> None:
    reply = await say(text)
    assert not reply.tool_calls
    assert "offline script" in reply.text
    assert "OPENAI_API_KEY" in reply.text
    assert text in reply.text or text in ("hello", "what can you do?")


async def test_words_stream_and_join_to_the_reply() -> None:
    listener = Listener()
    reply = await say("hello", listener=listener)
    assert len(listener.pieces) > 10
    assert listener.text == reply.text


async def test_the_same_conversation_gets_the_same_answer() -> None:
    assert await say("list files") == await say("list files")


async def test_a_rule_fits_by_a_piece_of_the_text(script: Path) -> None:
    reply = await say("please DEPLOY it", script=script)
    assert reply.text == "Deploying."
    assert reply.tool_calls[0].name == "write_file"
    assert "ok" in (await say(*after_tools("deploy", reply, "ok"), script=script)).text


async def test_steps_follow_each_other_as_results_come_in(script: Path) -> None:
    reply = await say("cost of tea", script=script)
    assert reply.tool_calls[0].name == "read_file"
    answer = await say(*after_tools("cost of tea", reply, "4 euro"), script=script)
    assert answer.text == "It says 4 euro to cost of tea"


async def test_a_nudge_does_not_derail_a_rule(script: Path) -> None:
    reply = await say("cost of tea", script=script)
    text = script.read_text().replace('text = "Anything else."', 'when = "else"\ntext = "Else."')
    script.write_text(text)
    messages = [*after_tools("cost of tea", reply, "4 euro"), "You have 3 turns left."]
    assert (await say(*messages, script=script)).text.startswith("It says 4 euro")


async def test_a_new_text_starts_afresh(script: Path) -> None:
    call = ToolCall(call_id="1", name="read_file", arguments="{}")
    history: list[Message | str] = [
        "cost of tea",
        AssistantMessage(text="", tool_calls=(call,)),
        ToolMessage(call_id="1", name="read_file", content="4"),
        AssistantMessage(text="It says 4."),
        "cost of tea",
    ]
    assert (await say(*history, script=script)).tool_calls


async def test_a_rule_without_when_fits_everything(script: Path) -> None:
    assert (await say("hello", script=script)).text == "Anything else."


async def test_a_scripted_call_of_a_missing_tool_is_explained(script: Path) -> None:
    reply = await say("forbidden", script=script)
    assert not reply.tool_calls
    assert "teleport" in reply.text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[reply]]\ntext = \n", "line 2"),
        ("[[reply]]\nwen = 'x'\ntext = 'y'", "reply.0.wen"),
        ("[[reply]]\nwhen = '/(/'\ntext = 'y'", "reply.0: when is not a regular"),
        ("[[reply]]\nwhen = 'x'", "reply.0.steps.0: needs a text"),
        ("[[reply]]\ntool_calls = [{ arguments = {} }]", "reply.0.steps.0.tool_calls.0.name"),
        ("", "reply: is required"),
    ],
)
def test_a_bad_script_is_refused_with_the_place(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_script(path)
    assert named in str(caught.value)
    assert "bad.toml" in str(caught.value)


def test_a_missing_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load_script(tmp_path / "none.toml")


async def test_a_step_with_a_failure_fails_the_call_with_its_words(tmp_path: Path) -> None:
    path = tmp_path / "failing.toml"
    path.write_text('[[reply]]\nfailure = "503 from upstream"')
    with pytest.raises(ProviderError, match="503 from upstream") as failed:
        await say("hello", script=path)
    assert not failed.value.retryable
