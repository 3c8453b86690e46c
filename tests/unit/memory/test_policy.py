"""A run-memory policy is read whole, and what is wrong with it is named."""

from typing import Any

import pytest

from tests.support.factories import NOW
from understudy.core.clock import DAY_MS
from understudy.core.errors import Invalid
from understudy.memory.policy import (
    DEFAULT,
    RUN_MEMORY_POLICY,
    RunMemoryPolicy,
    SearchVisibility,
)

WRONG: dict[str, tuple[Any, str]] = {
    "no retention": ({"retention_ms": 0}, "/retention_ms"),
    "nothing tracked": ({"max_tracked_per_session": 0}, "/max_tracked_per_session"),
    "nothing in prompts": ({"max_prompt_entries": 0}, "/max_prompt_entries"),
    "more in prompts than tracked": (
        {"max_prompt_entries": 5, "max_tracked_per_session": 4},
        "/max_prompt_entries",
    ),
    "the same while disabled": (
        {"enabled": False, "max_prompt_entries": 5, "max_tracked_per_session": 4},
        "/max_prompt_entries",
    ),
    "below nothing": ({"retention_ms": -1}, "/retention_ms"),
    "too many tracked": ({"max_tracked_per_session": 10_001}, "/max_tracked_per_session"),
    "too large a number": ({"retention_ms": 2**53}, "/retention_ms"),
    "a truth value as number": ({"retention_ms": True}, "/retention_ms"),
    "a fraction": ({"max_prompt_entries": 1.5}, "/max_prompt_entries"),
    "a text as number": ({"retention_ms": "1000"}, "/retention_ms"),
    "a number as truth value": ({"enabled": 1}, "/enabled"),
    "nothing as truth value": ({"redact_pii": None}, "/redact_pii"),
    "an unknown visibility": ({"search_visibility": "everyone"}, "/search_visibility"),
    "a list as visibility": ({"search_visibility": ["session_only"]}, "/search_visibility"),
    "a floor above all": ({"relevance_floor": 1.01}, "/relevance_floor"),
    "a floor that is no number": ({"relevance_floor": float("nan")}, "/relevance_floor"),
    "an unknown field": ({"foo": 1}, "/foo"),
    "no object": (["enabled"], ""),
}


@pytest.mark.parametrize(("given", "pointer"), WRONG.values(), ids=WRONG)
def test_a_wrong_policy_is_refused_and_the_field_is_named(given: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        RUN_MEMORY_POLICY.read(given)

    assert (refused.value.domain, refused.value.code) == ("runtime", "invalid_run_memory_policy")
    assert pointer in [error.pointer for error in refused.value.errors]


def test_what_is_left_out_takes_its_default() -> None:
    assert RUN_MEMORY_POLICY.read({"max_prompt_entries": 5}) == RunMemoryPolicy(
        max_prompt_entries=5
    )
    assert RunMemoryPolicy() == RunMemoryPolicy(
        enabled=True,
        retention_ms=30 * DAY_MS,
        max_tracked_per_session=32,
        max_prompt_entries=3,
        redact_pii=True,
        search_visibility=SearchVisibility.SESSION_ONLY,
        relevance_floor=0.0,
    )


def test_a_disabled_policy_may_have_zeros() -> None:
    given = {
        "enabled": False,
        "retention_ms": 0,
        "max_tracked_per_session": 0,
        "max_prompt_entries": 0,
    }

    assert RUN_MEMORY_POLICY.to_json(
        RUN_MEMORY_POLICY.read(given)
    ) | given == RUN_MEMORY_POLICY.to_json(RUN_MEMORY_POLICY.read(given))


def test_a_policy_is_read_as_it_was_written() -> None:
    policy = RunMemoryPolicy(
        retention_ms=5, search_visibility=SearchVisibility.LEARNING_SCOPES, relevance_floor=0.25
    )

    assert (
        RUN_MEMORY_POLICY.stored({RUN_MEMORY_POLICY.setting: RUN_MEMORY_POLICY.to_json(policy)})
        == policy
    )
    assert RUN_MEMORY_POLICY.stored({}) == DEFAULT


def test_a_record_expires_after_its_time_and_not_at_it() -> None:
    policy = RunMemoryPolicy(retention_ms=1000)

    assert not policy.is_expired(NOW - 1000, now_ms=NOW)
    assert policy.is_expired(NOW - 1001, now_ms=NOW)
    assert RunMemoryPolicy(enabled=False).is_expired(NOW, now_ms=NOW)
