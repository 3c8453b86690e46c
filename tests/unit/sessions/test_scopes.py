"""What a session may see and use."""

import pytest

from tests.support.factories import bound, make_persona, make_session
from understudy.core.errors import Invalid
from understudy.sessions.model import Session
from understudy.sessions.scopes import (
    effective_capability_scope,
    effective_credential_scope,
    read_capability_scope,
    read_credential_scope,
)


def session_with(persona: dict | None, own: dict | None) -> Session:
    fields = {} if persona is None else bound(make_persona(capability_scope=persona))
    return make_session(capability_scope=own, **fields)


def test_the_personas_scope_is_narrowed_by_the_sessions() -> None:
    session = session_with(
        {"skill_allow": ["alpha", "beta"], "skill_deny": ["x"]},
        {"skill_allow": ["beta", "gamma"], "skill_deny": ["y"]},
    )

    effective = effective_capability_scope(session)

    assert effective is not None
    assert effective.to_json() == {"skill_allow": ["beta"], "skill_deny": ["x", "y"]}


def test_scopes_with_nothing_in_common_permit_no_skill_at_all() -> None:
    session = session_with({"skill_allow": ["alpha"]}, {"skill_allow": ["beta"]})

    effective = effective_capability_scope(session)

    assert effective is not None
    permitted = [s for s in ("alpha", "beta", "gamma") if effective.gate("skill").permits(s)]
    assert permitted == []


@pytest.mark.parametrize(
    ("persona", "own", "expected"),
    [
        (None, None, None),
        ({}, None, None),
        (None, {"skill_deny": ["x"]}, {"skill_deny": ["x"]}),
        ({"skill_deny": ["x"]}, None, {"skill_deny": ["x"]}),
    ],
)
def test_one_scope_alone_is_the_scope(
    persona: dict | None, own: dict | None, expected: dict | None
) -> None:
    effective = effective_capability_scope(session_with(persona, own))

    assert (None if effective is None else effective.to_json()) == expected


def test_a_list_that_is_missing_permits_everything_and_a_refusal_names_its_list() -> None:
    scope = read_credential_scope({"connector_allow": ["mail"], "mcp_server_deny": ["git"]})

    assert scope.gate("connector").refusing("mail") is None
    assert scope.gate("connector").refusing("slack") == "allow"
    assert scope.gate("connector_credential").refusing("mail:TOKEN") is None
    assert scope.gate("mcp_server").refusing("git") == "deny"


def test_credentials_that_are_named_are_permitted() -> None:
    scope = read_credential_scope(
        {"connector_allow": ["mail"], "connector_credential_allow": ["mail:TOKEN"]}
    )

    assert scope.gate("connector_credential").permits("mail:TOKEN")
    assert not scope.gate("connector_credential").permits("mail:OTHER")


def test_a_session_without_a_credential_scope_has_none() -> None:
    assert effective_credential_scope(make_session()) is None


def test_every_wrong_key_and_type_is_named() -> None:
    with pytest.raises(Invalid) as refused:
        read_capability_scope({"skil_allow": ["a"], "skill_deny": "a", "mcp_tool_allow": [1]})

    assert {error.pointer: error.code for error in refused.value.errors} == {
        "/capability_scope/skil_allow": "unknown_field",
        "/capability_scope/skill_deny": "wrong_type",
        "/capability_scope/mcp_tool_allow": "wrong_type",
    }


def test_a_credential_list_is_no_capability_list() -> None:
    with pytest.raises(Invalid):
        read_capability_scope({"route_allow": ["a"]})
    with pytest.raises(Invalid):
        read_credential_scope({"skill_allow": ["a"]})
