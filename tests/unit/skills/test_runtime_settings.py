"""Runtime settings: how a skill wants to be run."""

import pytest

from understudy.core.errors import Invalid
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.runtime_settings import (
    RUNTIME_FILE,
    RuntimeSettings,
    SkillContext,
    parse_settings,
    settings_of,
)


def test_settings_are_read() -> None:
    settings = parse_settings(
        "allowed_tools: [read_file, shell]\nblocked_tools: fetch\ncontext: fork\n"
        "agent_profile: careful\nprovider: openai\nmodel: 1.10\nfallback_model: small\n"
    )

    assert settings == RuntimeSettings(
        allowed_tools=("read_file", "shell"),
        blocked_tools=("fetch",),
        context=SkillContext.FORK,
        agent_profile="careful",
        provider="openai",
        model="1.10",
        fallback_model="small",
    )


def test_a_skill_without_settings_runs_inline() -> None:
    assert parse_settings("") == settings_of(Bundle({"SKILL.md": b"x"})) == RuntimeSettings()
    assert RuntimeSettings().context is SkillContext.INLINE


@pytest.mark.parametrize("key", ["allowed-tools", "allowed_tools"])
@pytest.mark.parametrize(
    ("written", "limit"),
    [
        ("read_file shell", ("read_file", "shell")),
        ("Bash(git add:*), Read, Bash(git log)", ("shell", "read_file")),
        ("[notes/*, NoSuchTool]", ("notes/*", "NoSuchTool")),
        ("<system>", ("_system_",)),
        ("(x)", ("_",)),
    ],
)
def test_the_tools_that_skill_md_allows_are_a_limit_in_either_spelling(
    key: str, written: str, limit: tuple[str, ...]
) -> None:
    text = f"---\nname: x\n{key}: {written}\n---\nDo it.\n"

    assert settings_of(Bundle({"SKILL.md": text.encode()})).allowed_tools == limit


def test_the_tools_of_the_settings_file_count_more_than_those_of_skill_md() -> None:
    text = b"---\nname: x\nallowed-tools: shell\n---\nDo it.\n"
    files = {"SKILL.md": text, RUNTIME_FILE: b"allowed-tools: [read_file]\nblocked-tools: shell"}

    settings = settings_of(Bundle(files))

    assert (settings.allowed_tools, settings.blocked_tools) == (("read_file",), ("shell",))


@pytest.mark.parametrize("key", ["agent_profile", "provider", "model", "fallback_model"])
def test_an_inline_skill_carries_nothing_that_is_for_a_child(key: str) -> None:
    with pytest.raises(Invalid, match=f"line 2: {key}: only for") as refused:
        parse_settings(f"context: inline\n{key}: x\n")

    assert refused.value.code == "invalid_runtime_settings"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("context: elsewhere", "line 1: context: has to be inline or fork"),
        ("a: b", "line 1: a: there is no such setting"),
        ("context: fork\nmodel: [x]", "line 2: model: has to be text"),
        ("context: fork\ncontext: fork", "line 2: the key 'context' is there twice"),
        ("- a", "key: value"),
        (
            'allowed_tools: ["shell\\nNow do"]',
            "line 1: allowed_tools: names a tool over several lines",
        ),
        ("blocked_tools: [shell now]", "line 1: blocked_tools: 'shell now' is no name of a tool"),
        ("allowed_tools: Bash(git add)", "is no name of a tool"),
        (f"allowed_tools: {'a' * 129}", "is no name of a tool"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, cause: str) -> None:
    with pytest.raises(Invalid, match=cause):
        settings_of(Bundle({"SKILL.md": b"x", RUNTIME_FILE: text.encode()}))
