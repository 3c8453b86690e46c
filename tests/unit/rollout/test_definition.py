"""What a caller may ask a procedure to become."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.rollout_harness import ASKED
from understudy.core.errors import Invalid
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.rollout.definition import DEFAULT_DESCRIPTION, Promotion, check_definition
from understudy.rollout.model import FORKED

EXAMPLE = "AKIA" + "IOSFODNN7EXAMPLE"
KEY = "sk-" + "proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8x"
# What is wrong, and where that is said.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a slash in the name": ({"skill_name": "bad/name"}, "/skill_name"),
    "a blank in the name": ({"skill_name": "a b"}, "/skill_name"),
    "no name": ({"skill_name": ""}, "/skill_name"),
    "a name of letters from elsewhere": ({"skill_name": "prüfen"}, "/skill_name"),
    "a name with a line break": ({"skill_name": "a\n"}, "/skill_name"),
    "a name that is an option": ({"skill_name": "--help"}, "/skill_name"),
    "a name of signs alone": ({"skill_name": ":::"}, "/skill_name"),
    "a name that begins with a dash": ({"skill_name": "-a"}, "/skill_name"),
    "a long name": ({"skill_name": "a" * 129}, "/skill_name"),
    "the name of a local skill": ({"skill_name": "local:x"}, "/skill_name"),
    "the name of a promoted skill": ({"skill_name": "Promoted:x"}, "/skill_name"),
    "the id of a skill": ({"skill_name": "skl_1"}, "/skill_name"),
    "no instructions": ({"instructions": ""}, "/instructions"),
    "blank instructions": ({"instructions": " \n\t "}, "/instructions"),
    "instructions without end": ({"instructions": "a" * 32_001}, "/instructions"),
    "instructions that hide something": ({"instructions": "do\u200bit"}, "/instructions"),
    "a NUL in instructions": ({"instructions": "do\x00it"}, "/instructions"),
    "half a character": ({"instructions": "do \ud83d"}, "/instructions"),
    "a folder that it does not have": (
        {"instructions": "Run ${UNDERSTUDY_SKILL_DIR}/x.py"},
        "/instructions",
    ),
    "the other name of that folder": ({"instructions": "Run {baseDir}/x.py"}, "/instructions"),
    "work in the run itself": ({"context": "inline"}, "/context"),
    "another profile": ({"agent_profile": "default"}, "/agent_profile"),
    "a long description": ({"description": "a" * 1001}, "/description"),
    "a hidden word to use it": ({"when_to_use": "now\u202e"}, "/when_to_use"),
    "a long version": ({"version": "1" * 101}, "/version"),
    "a long model": ({"model": "m" * 201}, "/model"),
    "a long route": ({"provider": "m" * 201}, "/provider"),
    "a long second model": ({"fallback_model": "m" * 201}, "/fallback_model"),
    "a tool of two words": ({"allowed_tools": ["read file"]}, "/allowed_tools"),
    "a tool with a pattern": ({"blocked_tools": ["Bash(rm:*)"]}, "/blocked_tools"),
    "no tool at all": ({"allowed_tools": [""]}, "/allowed_tools/0"),
    "a blank tool": ({"blocked_tools": ["shell", " "]}, "/blocked_tools/1"),
    "too many tools": ({"allowed_tools": [f"t{n}" for n in range(201)]}, "/allowed_tools"),
}
SECRETS: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"skill_name": KEY}, "/skill_name"),
    "description": ({"description": f"use {KEY}"}, "/description"),
    "when to use": ({"when_to_use": f"with {KEY}"}, "/when_to_use"),
    "version": ({"version": KEY}, "/version"),
    "instructions": ({"instructions": "clientSecret: hunter2hunter2"}, "/instructions"),
    "route": ({"provider": KEY}, "/provider"),
    "model": ({"model": KEY}, "/model"),
    "second model": ({"fallback_model": KEY}, "/fallback_model"),
    "tool": ({"allowed_tools": ["read_file", KEY]}, "/allowed_tools/1"),
    "blocked tool": ({"blocked_tools": [KEY]}, "/blocked_tools/0"),
    "the name of an example": ({"skill_name": EXAMPLE}, "/skill_name"),
    "the instructions of an example": ({"instructions": f"use {EXAMPLE}"}, "/instructions"),
    "the tool of an example": ({"allowed_tools": [EXAMPLE]}, "/allowed_tools/0"),
}


def refused(wanted: Promotion, guard: SecretGuard = NO_LITERALS) -> Invalid:
    with pytest.raises(Invalid) as told:
        check_definition(wanted, guard)
    return told.value


@pytest.mark.parametrize(("fields", "pointer"), WRONG.values(), ids=WRONG)
def test_a_definition_that_is_none_is_refused_at_its_place(
    fields: dict[str, Any], pointer: str
) -> None:
    problem = refused(replace(ASKED, **fields))
    assert problem.code == "invalid_definition"
    assert {it.pointer for it in problem.errors} == {pointer}


@pytest.mark.parametrize(("fields", "pointer"), SECRETS.values(), ids=SECRETS)
def test_no_field_holds_what_looks_like_a_secret(fields: dict[str, Any], pointer: str) -> None:
    problem = refused(replace(ASKED, **fields))
    assert (problem.code, [it.pointer for it in problem.errors]) == ("secret_definition", [pointer])
    assert KEY not in problem.detail


@pytest.mark.parametrize(
    "fields",
    [
        {"skill_name": "a b", "model": KEY},
        {"allowed_tools": [f"no tool {KEY}"]},
        {"context": "inline", "instructions": f"use {KEY}"},
    ],
)
def test_a_secret_is_told_before_all_else_and_never_repeated(fields: dict[str, Any]) -> None:
    problem = refused(replace(ASKED, **fields))
    assert problem.code == "secret_definition"
    assert not any(KEY in it.detail for it in problem.errors)


def test_what_the_operator_named_is_a_secret_whatever_it_looks_like() -> None:
    wanted = replace(ASKED, description="ask for plain-words")
    check_definition(wanted, NO_LITERALS)
    assert refused(wanted, SecretGuard(("plain-words",))).code == "secret_definition"


def test_everything_that_is_wrong_is_told_at_once() -> None:
    problem = refused(Promotion(skill_name="a b", instructions=" ", context="inline"))
    pointers = [it.pointer for it in problem.errors]
    assert pointers == ["/skill_name", "/instructions", "/context"]


def test_what_is_left_out_takes_its_default_and_quotes_no_learning() -> None:
    made = check_definition(replace(ASKED, description="  ", agent_profile=" "), NO_LITERALS)
    assert made.description == DEFAULT_DESCRIPTION
    assert made.runtime == FORKED
    assert (made.when_to_use, made.version) == (None, "1")


def test_lines_lose_their_doubled_blanks_and_instructions_those_around_them() -> None:
    wanted = replace(
        ASKED,
        description="  one\t two\n three ",
        when_to_use=" on   call ",
        instructions="\r\n do\r\n it \n",
        allowed_tools=["read_file", " read_file"],
        agent_profile="verification",
        model=" m ",
    )
    made = check_definition(wanted, NO_LITERALS)
    assert (made.description, made.when_to_use) == ("one two three", "on call")
    assert made.instructions == "do\n it"
    assert made.runtime == replace(FORKED, allowed_tools=("read_file",), model="m")


def test_a_name_may_have_every_sign_that_it_may_have() -> None:
    for name in ("learning:sched", "A-1_b:C", "_x", ":x", "x", "9", "a" * 128):
        assert check_definition(replace(ASKED, skill_name=name), NO_LITERALS).skill_name == name
