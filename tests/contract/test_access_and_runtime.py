"""Tokens and the runtime document as callers use them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.factories import ADMIN
from understudy.access.sign_in import MAX_BROWSERS, BrowserSignIn
from understudy.access.tokens import LOCAL_ADMIN, TOKEN_PREFIX, TokenService, hash_token
from understudy.core.errors import (
    Conflict,
    Invalid,
    NotFound,
    Rejected,
    StaleVersion,
    Unauthenticated,
)
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.runtime.service import MAX_REVISIONS, RuntimeService
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock


def service(
    units: Units, *, admin_token: str | None = None, is_loopback: bool = True
) -> TokenService:
    return TokenService(units, FrozenClock(), admin_token=admin_token, is_loopback=is_loopback)


@pytest.fixture
def tokens(units: Units) -> TokenService:
    return service(units)


@pytest.fixture
def runtime(units: Units) -> RuntimeService:
    return RuntimeService(units, FrozenClock())


def test_a_token_is_shown_once_and_stored_as_a_hash(units: Units, tokens: TokenService) -> None:
    token, secret = tokens.create(ADMIN, "bob", Role.OPERATOR)

    assert secret.startswith(TOKEN_PREFIX)
    assert token.token_hash == hash_token(secret)
    [stored] = tokens.page(PageRequest()).items
    assert stored == token
    assert secret not in repr(stored)


def test_a_token_stands_for_its_user_and_role(tokens: TokenService) -> None:
    _, secret = tokens.create(ADMIN, "bob", Role.VIEWER)

    assert tokens.authenticate(secret) == Principal(user_id="bob", role=Role.VIEWER)


def test_a_token_says_what_its_user_reads(tokens: TokenService) -> None:
    token, secret = tokens.create(ADMIN, "bob", Role.ADMIN, locale="vi-VN")

    assert token.locale == tokens.authenticate(secret).locale == "vi"
    assert [each.locale for each in tokens.page(PageRequest()).items] == ["vi"]
    # What the admin reads says nothing about somebody else.
    assert tokens.authenticate(secret, act_for="ann").locale is None


@pytest.mark.parametrize("locale", ["fr", "", " ", "tlh", "vi " * 40, "v\x00i"])
def test_a_language_that_nobody_speaks_is_refused(tokens: TokenService, locale: str) -> None:
    with pytest.raises(Invalid) as refused:
        tokens.create(ADMIN, "bob", Role.VIEWER, locale=locale)

    assert (refused.value.code, refused.value.errors[0].pointer) == ("invalid_locale", "/locale")
    assert tokens.page(PageRequest()).items == ()


def test_until_there_is_a_token_a_local_caller_is_admin(tokens: TokenService) -> None:
    assert tokens.authenticate(None) == LOCAL_ADMIN

    tokens.create(ADMIN, "bob", Role.VIEWER)

    with pytest.raises(Unauthenticated):
        tokens.authenticate(None)


def test_beyond_loopback_a_token_is_always_needed(units: Units) -> None:
    with pytest.raises(Unauthenticated):
        service(units, is_loopback=False).authenticate(None)


def test_any_admin_token_has_a_cookie(units: Units) -> None:
    tokens = service(units, admin_token="s3cret-ключ")
    sign_in = BrowserSignIn(tokens)

    cookie = sign_in.cookie("s3cret-ключ")

    assert sign_in.principal(cookie) == tokens.authenticate("s3cret-ключ")


@pytest.mark.parametrize("cookie", ["", ".", "admin.", "tok\x00.99999999999.x"])
def test_a_cookie_that_nobody_was_given_is_none(tokens: TokenService, cookie: str) -> None:
    assert BrowserSignIn(tokens).principal(cookie) is None


def test_the_cookies_of_a_token_end_with_it_and_are_bounded(tokens: TokenService) -> None:
    token, secret = tokens.create(ADMIN, "bob", Role.VIEWER)
    sign_in = BrowserSignIn(tokens)
    cookies = [sign_in.cookie(secret) for _ in range(MAX_BROWSERS + 1)]

    assert [sign_in.principal(each) is None for each in (cookies[0], cookies[1])] == [True, False]
    tokens.delete(ADMIN, token.token_id)
    assert sign_in.principal(cookies[-1]) is None


@pytest.mark.parametrize("others", [(), (Role.OPERATOR,)], ids=["alone", "beside others"])
def test_the_last_token_of_an_admin_is_deleted_on_purpose_alone(
    tokens: TokenService, others: tuple[Role, ...]
) -> None:
    for role in others:
        tokens.create(ADMIN, "ann", role)
    first, second = (tokens.create(ADMIN, name, Role.ADMIN)[0].token_id for name in ("bob", "cid"))
    tokens.delete(ADMIN, first)
    with pytest.raises(Conflict) as refused:
        tokens.delete(ADMIN, second)

    assert refused.value.code == "last_admin_token"
    assert tokens.tokens_exist()
    tokens.delete(ADMIN, second, leave_no_admin=True)
    assert tokens.tokens_exist() == bool(others)


def test_two_admins_who_delete_each_other_at_once_leave_one(
    units: Units, tokens: TokenService
) -> None:
    first, second = (tokens.create(ADMIN, name, Role.ADMIN)[0].token_id for name in ("bob", "cid"))
    with ThreadPoolExecutor(1) as pool:
        with units.write() as unit:
            unit.tokens.lock_admins()
            unit.tokens.delete(first)
            other = pool.submit(tokens.delete, ADMIN, second)
        with pytest.raises(Conflict):
            other.result(60)

    assert tokens.tokens_exist()


def test_with_an_admin_token_in_the_environment_any_token_may_be_deleted(units: Units) -> None:
    tokens = service(units, admin_token="s3cret")
    token, _ = tokens.create(ADMIN, "bob", Role.ADMIN)

    tokens.delete(ADMIN, token.token_id)


@pytest.mark.parametrize(
    "user_id", ["daemon", "Anonymous", "project-control", "bridge:b1:eve", "BRIDGE:x"]
)
def test_no_token_and_no_admin_stands_for_what_is_no_person(
    tokens: TokenService, user_id: str
) -> None:
    _, secret = tokens.create(ADMIN, "bob", Role.ADMIN)
    for act in (
        lambda: tokens.create(ADMIN, user_id, Role.VIEWER),
        lambda: tokens.authenticate(secret, act_for=user_id),
    ):
        with pytest.raises(Invalid) as refused:
            act()
        assert refused.value.code == "reserved_user_id"


def test_a_token_for_the_admins_of_the_daemon_is_one_of_an_admin(tokens: TokenService) -> None:
    """Their runs act as admins, so a lesser token would be more than it says."""
    for user_id in ("local", "admin"):
        with pytest.raises(Invalid):
            tokens.create(ADMIN, user_id, Role.OPERATOR)
        tokens.create(ADMIN, user_id, Role.ADMIN)


def test_the_admin_token_of_the_environment_is_one(units: Units) -> None:
    tokens = service(units, admin_token="s3cret-ключ")

    assert tokens.authenticate("s3cret-ключ") == Principal(user_id="admin", role=Role.ADMIN)
    assert tokens.tokens_exist()
    for wrong in (None, "", "s3cret", "s3cret-ключ "):
        with pytest.raises(Unauthenticated):
            tokens.authenticate(wrong)


def test_a_deleted_token_is_refused_from_now_on(tokens: TokenService) -> None:
    token, secret = tokens.create(ADMIN, "bob", Role.ADMIN)
    tokens.create(ADMIN, "eve", Role.ADMIN)
    tokens.delete(ADMIN, token.token_id)

    with pytest.raises(Unauthenticated):
        tokens.authenticate(secret)
    with pytest.raises(NotFound):
        tokens.delete(ADMIN, token.token_id)


def test_an_admin_may_act_for_somebody_else_and_is_named(tokens: TokenService) -> None:
    _, secret = tokens.create(ADMIN, "root", Role.ADMIN)

    principal = tokens.authenticate(secret, act_for="bob")

    assert (principal.user_id, principal.acting_admin) == ("bob", "root")
    assert tokens.authenticate(secret, act_for="root").acting_admin is None
    with pytest.raises(Invalid):
        tokens.authenticate(secret, act_for="a b")


def test_nobody_else_may_act_for_another(tokens: TokenService) -> None:
    _, secret = tokens.create(ADMIN, "bob", Role.OPERATOR)

    with pytest.raises(Rejected):
        tokens.authenticate(secret, act_for="bob")
    with pytest.raises(Rejected) as refused:
        tokens.authenticate(secret, act_for="alice")
    assert refused.value.code == "forbidden"


def test_a_user_id_is_checked(tokens: TokenService) -> None:
    with pytest.raises(Invalid):
        tokens.create(ADMIN, "a b", Role.VIEWER)


def test_the_runtime_begins_at_revision_one(runtime: RuntimeService) -> None:
    assert (runtime.current().revision, runtime.current().document) == (1, {})
    assert [revision.revision for revision in runtime.revisions()] == [1]


def test_each_change_is_a_revision_and_no_change_is_none(runtime: RuntimeService) -> None:
    runtime.change(ADMIN, {"debug_level": "full"})
    runtime.change(ADMIN, {"debug_level": "full"})
    changed = runtime.change(ADMIN, {"default_route": "b"}, expected_revision=2)

    assert changed.revision == 3
    assert changed.document == {"debug_level": "full", "default_route": "b"}
    assert (changed.actor, changed.setting) == ("root", "default_route")


def test_an_old_expectation_is_a_conflict(runtime: RuntimeService) -> None:
    runtime.change(ADMIN, {"debug_level": "full"})

    with pytest.raises(StaleVersion) as refused:
        runtime.change(ADMIN, {"debug_level": "off"}, expected_revision=1)

    assert refused.value.code == "runtime_revision_conflict"
    assert refused.value.params == {"revision": 2}


def test_a_rollback_is_a_new_revision(runtime: RuntimeService) -> None:
    runtime.change(ADMIN, {"debug_level": "full"})
    runtime.change(ADMIN, {"debug_level": "requests"})

    back = runtime.roll_back(ADMIN, None)
    start = runtime.roll_back(ADMIN, 1)

    assert (back.revision, back.document, back.rollback_of_revision) == (
        4,
        {"debug_level": "full"},
        2,
    )
    assert (start.revision, start.document) == (5, {})
    with pytest.raises(NotFound):
        runtime.roll_back(ADMIN, 99)


def test_a_rollback_of_one_setting_looks_past_changes_of_others(runtime: RuntimeService) -> None:
    runtime.change(ADMIN, {"debug_level": "full"})
    runtime.change(ADMIN, {"debug_level": "requests"})
    runtime.change(ADMIN, {"default_route": "b"})

    back = runtime.roll_back(ADMIN, None, only="debug_level")

    assert back.document == {"debug_level": "full", "default_route": "b"}
    assert (back.revision, back.rollback_of_revision) == (5, 2)
    for missing in ("none", ""):
        with pytest.raises(NotFound) as refused:
            runtime.roll_back(ADMIN, None, only=missing)
        assert refused.value.code == "runtime_revision_not_found"
    assert runtime.roll_back(ADMIN, None, only="default_route").rollback_of_revision == 3


def test_a_bounded_number_of_revisions_is_kept(runtime: RuntimeService) -> None:
    for number in range(MAX_REVISIONS + 3):
        runtime.change(ADMIN, {"n": number})

    kept = runtime.revisions()

    assert len(kept) == MAX_REVISIONS
    assert kept[0].revision == MAX_REVISIONS + 4


@pytest.mark.parametrize(
    ("user_id", "admin_token", "role"),
    [
        ("local", None, Role.ADMIN),
        ("ann", None, Role.OPERATOR),
        ("admin", "x" * 20, Role.ADMIN),
        ("ann", "x" * 20, Role.OPERATOR),
    ],
)
def test_a_run_acts_as_an_operator_unless_its_user_runs_the_daemon(
    units: Units, user_id: str, admin_token: str | None, role: Role
) -> None:
    tokens = service(units, admin_token=admin_token)
    with units.read() as unit:
        assert tokens.role_in_runs(unit, user_id) is role


def test_a_run_acts_as_an_admin_while_its_user_has_such_a_token(
    units: Units, tokens: TokenService
) -> None:
    token, _ = tokens.create(ADMIN, "root", Role.ADMIN)
    with units.read() as unit:
        assert tokens.role_in_runs(unit, "root") is Role.ADMIN
        assert tokens.role_in_runs(unit, "local") is Role.OPERATOR
    tokens.delete(ADMIN, token.token_id, leave_no_admin=True)
    with units.read() as unit:
        assert tokens.role_in_runs(unit, "root") is Role.OPERATOR
