"""The tools for skills as a model is told of them, and what they take."""

import json
from typing import Any

import pytest

from tests.support.factories import make_agent
from understudy.agents.model import AgentType
from understudy.agents.switches import hidden_tools
from understudy.core.text import estimate_tokens
from understudy.permissions.model import PermissionDecision
from understudy.skills.runtime_settings import RuntimeSettings
from understudy.skills.tools.fork import ForkTools, tools_for, tools_for_promoted
from understudy.skills.tools.manage import (
    CHANGE_TIMEOUT_S,
    PublishSkill,
    SkillManage,
    SkillManageParameters,
)
from understudy.tools.base import Effect, ToolError
from understudy.tools.registry import ToolRegistry

NOBODY: Any = None
REGISTRY = ToolRegistry([SkillManage(NOBODY)])


def test_what_describes_skill_manage_stays_within_its_budget() -> None:
    function = {
        "name": SkillManage.name,
        "description": SkillManage.description,
        "parameters": REGISTRY.schema(SkillManage.name),
    }
    definition = json.dumps({"type": "function", "function": function})

    assert estimate_tokens(definition) <= 348


def test_skill_manage_takes_what_its_actions_need_and_no_more() -> None:
    assert list(SkillManageParameters.model_fields) == [
        "action",
        "slug",
        "content",
        "find",
        "replace",
        "replace_all",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "action must be one of create, patch, delete"),
        ({"action": "burn"}, "action must be one of create, patch, delete"),
        ({"action": ["create"]}, "action must be one of create, patch, delete"),
        ({"action": "create"}, "create needs content"),
        ({"action": "create", "content": "x", "find": "y"}, "create does not take find"),
        ({"action": "patch"}, "patch needs slug and find and replace"),
        ({"action": "patch", "find": "a", "replace": ""}, "patch needs slug"),
        ({"action": "patch", "slug": "aa", "replace": ""}, "patch needs find"),
        ({"action": "patch", "slug": "aa", "find": "", "replace": "x"}, "patch needs find"),
        ({"action": "patch", "slug": "aa", "find": "a"}, "patch needs replace"),
        ({"action": "delete"}, "delete needs slug"),
        ({"action": "delete", "slug": "aa", "content": "x"}, "delete does not take content"),
        ({"action": "delete", "slug": "aa", "force": True}, "is not a parameter of this tool"),
    ],
)
def test_a_call_that_lacks_something_says_what(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        REGISTRY.check("skill_manage", arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "create", "content": ""},
        {"action": "create", "content": "x", "slug": "", "find": "", "replace": ""},
        {"action": "patch", "slug": "aa", "find": "b", "replace": "", "replace_all": True},
        {"action": "delete", "slug": "aa", "content": "", "replace_all": False},
    ],
)
def test_what_is_empty_does_not_stand_in_the_way(arguments: dict[str, Any]) -> None:
    checked = REGISTRY.check("skill_manage", arguments).model_dump()

    assert {name: checked[name] for name in arguments} == arguments


@pytest.mark.parametrize(
    ("agent_type", "config", "is_hidden"),
    [
        (AgentType.PREDEFINED, {"skill_evolve": True}, False),
        (AgentType.PREDEFINED, {"skill_evolve": False, "self_evolve": True}, True),
        (AgentType.PREDEFINED, {"skill_evolve": "yes"}, True),
        (AgentType.PREDEFINED, {}, True),
        (AgentType.OPEN, {"skill_evolve": True, "self_evolve": True}, True),
    ],
)
def test_the_tool_is_hidden_from_whoever_does_not_learn(
    agent_type: AgentType, config: dict[str, Any], is_hidden: bool
) -> None:
    agent = make_agent(agent_type=agent_type, other_config=config)

    assert ("skill_manage" in hidden_tools(agent)) is is_hidden


def test_an_agent_that_is_gone_has_no_switched_tool() -> None:
    assert hidden_tools(None) == {"skill_manage"}


def test_a_skill_that_names_no_tools_denies_none() -> None:
    assert tools_for(RuntimeSettings(), "aa", ["shell"]) == ForkTools()


def test_a_skill_is_kept_to_the_tools_that_it_names() -> None:
    settings = RuntimeSettings(allowed_tools=("shell", "tasks"), blocked_tools=("tasks", "x" * 201))

    tools = tools_for(settings, "aa", ["shell", "tasks", "fetch_url", "use_skill"])

    assert [rule.tool for rule in tools.denied] == ["tasks", "fetch_url", "*/*"]
    assert {rule.decision for rule in tools.denied} == {PermissionDecision.DENY}
    assert (tools.capabilities, tools.credentials) == ({}, None)


KNOWN = ("list_files", "list_skills", "shell", "use_skill", "srv/read", "srv/write", "web/get")


@pytest.mark.parametrize(
    ("allowed", "denied", "outside"),
    [
        (["list_*"], ["shell", "*/*"], None),
        (["*"], [], ["srv/read", "srv/write", "web/get"]),
        (
            ["shell", "srv/read"],
            ["list_files", "list_skills", "srv/write", "web/get"],
            ["srv/read"],
        ),
        (["srv/*"], ["list_files", "list_skills", "shell", "web/get"], ["srv/read", "srv/write"]),
        (["*/read"], ["list_files", "list_skills", "shell", "srv/write", "web/get"], ["srv/read"]),
        (["new/tool"], [*KNOWN[:3], *KNOWN[4:]], ["new/tool"]),
        (["gone/*"], [*KNOWN[:3], "*/*"], None),
    ],
)
def test_patterns_and_tools_of_servers_allow_what_fits_them(
    allowed: list[str], denied: list[str], outside: list[str] | None
) -> None:
    tools = tools_for(RuntimeSettings(allowed_tools=tuple(allowed)), "aa", KNOWN)

    assert [rule.tool for rule in tools.denied] == denied
    assert tools.capabilities.get("mcp_tool_allow") == outside
    servers = outside and sorted({name.partition("/")[0] for name in outside})
    assert tools.capabilities.get("mcp_server_allow") == servers
    assert (tools.credentials or {}).get("mcp_server_allow") == servers


def test_a_promoted_skill_uses_others_only_where_it_says_so_and_never_itself() -> None:
    narrow = RuntimeSettings(allowed_tools=("shell",))
    wide = RuntimeSettings(allowed_tools=("shell", "use_*"))

    denied = [
        {rule.tool for rule in tools_for_promoted(settings, "aa", KNOWN).denied}
        for settings in (narrow, wide)
    ]

    assert ["use_skill" in each for each in denied] == [True, False]
    assert tools_for_promoted(narrow, "aa", KNOWN).capabilities == {"skill_deny": ["aa"]}


def test_a_promoted_skill_has_no_tool_beside_those_of_its_list() -> None:
    settings = RuntimeSettings(allowed_tools=("shell",))
    known = ["shell", "read_file", "read_artifact", "use_skill"]

    denied = {rule.tool for rule in tools_for_promoted(settings, "aa", known).denied}

    assert denied >= {*known} - {"shell"}


def test_every_tool_that_changes_skills_has_the_time_that_the_guard_takes() -> None:
    assert {SkillManage.timeout_s, PublishSkill.timeout_s} == {CHANGE_TIMEOUT_S}
    assert {SkillManage.effect, PublishSkill.effect} == {Effect.ONCE}
