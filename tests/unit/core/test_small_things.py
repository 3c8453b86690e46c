"""Previews, roles, errors, audit entries and clocks."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.audit import AuditOutcome, current_request_id, done
from understudy.core.clock import SystemClock
from understudy.core.errors import Conflict, FieldError, Invalid, Rejected, StaleVersion, Unsafe
from understudy.core.principal import DAEMON, Principal, Role
from understudy.core.text import (
    ELLIPSIS,
    PREVIEW_CHARS,
    and_more,
    preview,
    quoted,
    short_digest,
)
from understudy.testing.clock import FrozenClock


def test_a_short_text_is_its_own_preview_but_for_the_blanks_around_it() -> None:
    assert preview("  hello \n") == "hello"


def test_a_preview_has_160_characters_and_says_when_something_was_cut() -> None:
    assert preview("x" * 160) == "x" * 160
    assert preview("x" * 161) == "x" * 160 + "…"


@given(st.text())
def test_a_preview_is_never_longer_than_the_limit_and_the_mark(text: str) -> None:
    assert len(preview(text)) <= PREVIEW_CHARS + len(ELLIPSIS)


@pytest.mark.parametrize(
    ("role", "includes"),
    [
        (Role.CLIENT, {Role.CLIENT}),
        (Role.VIEWER, {Role.CLIENT, Role.VIEWER}),
        (Role.OPERATOR, {Role.CLIENT, Role.VIEWER, Role.OPERATOR}),
        (Role.ADMIN, set(Role)),
    ],
)
def test_each_role_includes_the_ones_before_it(role: Role, includes: set[Role]) -> None:
    assert {other for other in Role if role.includes(other)} == includes


def test_people_are_shown_the_beginning_of_a_digest() -> None:
    assert short_digest("0123456789abcdef") == "0123456789ab…"
    assert short_digest("0123") == "0123"


def test_a_missing_role_is_refused_in_words() -> None:
    viewer = Principal(user_id="v", role=Role.VIEWER)

    with pytest.raises(Rejected) as refused:
        viewer.require(Role.OPERATOR)

    assert (refused.value.domain, refused.value.code) == ("auth", "forbidden")
    assert "operator" in refused.value.detail
    assert "viewer" in refused.value.detail


def test_an_admin_who_acts_for_somebody_is_named_with_them() -> None:
    assert DAEMON.actor == "daemon"
    assert Principal(user_id="bob", role=Role.ADMIN, acting_admin="root").actor == "root as bob"


def test_an_audit_entry_is_of_the_request_being_served() -> None:
    token = current_request_id.set("req_7")
    try:
        entry = done(DAEMON, "sessions.create", "s1", at_ms=5, version=2)
    finally:
        current_request_id.reset(token)

    assert (entry.resource, entry.resource_id, entry.version) == ("sessions", "s1", 2)
    assert (entry.actor, entry.request_id, entry.outcome) == ("daemon", "req_7", AuditOutcome.DONE)


def test_an_error_without_words_speaks_its_code() -> None:
    assert Conflict("session_busy").detail == "session busy"


def test_a_stale_version_is_a_conflict() -> None:
    assert issubclass(StaleVersion, Conflict)


def test_a_pointer_makes_the_list_of_wrong_values() -> None:
    problem = Invalid("too_long", detail="too long", pointer="/name")

    assert problem.errors == (FieldError(pointer="/name", code="too_long", detail="too long"),)
    assert Invalid("too_long").errors == ()


def test_the_system_clock_counts_milliseconds() -> None:
    before = int(time.time() * 1000)

    assert before - 1 <= SystemClock().now_ms() <= before + 10_000


def test_a_frozen_clock_moves_only_when_told() -> None:
    clock = FrozenClock(ms=10)

    assert (clock.now_ms(), clock.now_ms()) == (10, 10)
    assert clock.advance(5) == clock.now_ms() == 15


def test_an_error_about_values_that_stand_elsewhere_is_otherwise_the_same() -> None:
    errors = (FieldError(pointer="/a", code="one", detail="1"),)
    problem = Unsafe("bad", domain="skills", detail="no", errors=errors, params={"limit": 7})

    moved = problem.moved(lambda pointer: f"/in{pointer}")

    assert type(moved) is Unsafe
    assert (moved.code, moved.domain, moved.detail, moved.params) == (
        "bad",
        "skills",
        "no",
        {"limit": 7},
    )
    assert moved.errors == (FieldError(pointer="/in/a", code="one", detail="1"),)
    assert problem.moved(str, detail="no, too").detail == "no, too"
    assert Invalid("bad").moved(lambda pointer: f"/in{pointer}").errors == ()


def test_a_list_that_was_cut_says_how_many_more_there_are() -> None:
    assert and_more(["a", "b"], 3) == ["a", "b", "and 3 more"]
    assert and_more(("a", "b"), 0) == ["a", "b"]
    assert and_more([], -2) == []


def test_a_name_from_outside_is_quoted_short_and_without_what_cannot_be_shown() -> None:
    assert quoted("a\nb") == "'a\\nb'"
    assert quoted("x" * 121) == repr("x" * 120 + ELLIPSIS)
