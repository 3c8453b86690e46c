"""Suggested commands go to the daemon that was named."""

import pytest

from tests.support.command_line_in_process import typed
from tests.unit.cli.waiting_parts import approval_document
from understudy.cli.output import HINTS, for_daemon_at, problem_lines, understudy
from understudy.cli.requests import need_lines

URL = "http://127.0.0.1:9"


def test_a_suggestion_names_the_daemon_only_when_one_was_named() -> None:
    assert understudy() == "understudy"
    with for_daemon_at(URL):
        assert understudy() == f"understudy --url {URL}"
        assert f"  understudy --url {URL} approvals allow apr_1" in need_lines(approval_document())
    assert understudy() == "understudy"


def test_an_odd_address_is_quoted_for_the_shell() -> None:
    with for_daemon_at("http://x/$(date)"):
        assert understudy() == "understudy --url 'http://x/$(date)'"


@pytest.mark.parametrize("code", HINTS)
def test_every_hint_has_words_with_and_without_an_address(code: str) -> None:
    with for_daemon_at(URL):
        *_, hint = problem_lines({"code": code, "domain": "x", "detail": "y"})

    assert "{" not in hint
    assert f"understudy --url {URL} " in hint or "`{understudy}" not in HINTS[code]


def test_a_command_that_was_given_an_address_suggests_it() -> None:
    result = typed("status", "--url", URL)

    # The daemon itself is started, not called.
    assert "start one with `understudy serve`" in result.stderr
    assert understudy() == "understudy"
