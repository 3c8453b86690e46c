"""Ids as people type them: cut, `@last`, or misspelt."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.command_line_in_process import Typed, typed
from tests.support.tiny_daemon import AskedRequest, tiny_daemon
from tests.unit.client.fake_daemon import run_document
from understudy.cli.ids import kinds_of, meant, shortened
from understudy.cli.options import RunId
from understudy.cli.output import ExitCode

WHOLE = "run_1nfwxnh6yve7sh8mtwbzw14zx8"
OTHER = "run_1nfwxnefgd4fvcd3zvfd0vee57"
CUT = WHOLE[:13]


def known(*ids: str) -> Mapping[str, Any]:
    return {"items": [{"id": each, "label": f"about {each[-2:]}", "at_ms": 1} for each in ids]}


def cancel(word: str, *ids: str, options: tuple[str, ...] = ()) -> tuple[Typed, list[AskedRequest]]:
    answers = {"/v1/ids": known(*ids), f"/v1/runs/{WHOLE}/cancel": run_document(WHOLE)}
    with tiny_daemon(answers) as (url, asked):
        return typed("--url", url, "runs", "cancel", word, *options), asked


def test_a_unique_beginning_stands_for_the_whole_id() -> None:
    done, asked = cancel(CUT, WHOLE)
    assert done.exit_code == 0, done.output
    assert [each.target for each in asked] == [
        f"/v1/ids?kind=run&prefix={CUT}&limit=6",
        f"/v1/runs/{WHOLE}/cancel",
    ]


def test_a_whole_id_costs_no_call_more() -> None:
    done, asked = cancel(WHOLE)
    assert done.exit_code == 0, done.output
    assert [each.target for each in asked] == [f"/v1/runs/{WHOLE}/cancel"]


def test_a_beginning_of_several_is_refused_with_their_labels_and_nothing_is_done() -> None:
    done, asked = cancel("run_1nfw", WHOLE, OTHER)
    assert done.exit_code == ExitCode.USAGE
    assert done.stdout == ""
    assert f"{WHOLE}  about x8" in done.stderr
    assert f"{OTHER}  about 57" in done.stderr
    assert all(each.method == "GET" for each in asked)


def test_with_json_a_problem_says_that_an_id_is_ambiguous() -> None:
    done, _ = cancel("run_1nfw", WHOLE, OTHER, options=("--json",))
    assert done.exit_code == ExitCode.USAGE
    assert '"code": "ambiguous_id"' in done.stdout


def test_last_is_the_newest_of_ones_own_and_says_which() -> None:
    done, asked = cancel("@last", WHOLE)
    assert done.exit_code == 0, done.output
    assert asked[0].target == "/v1/ids?kind=run&mine=true&limit=1"
    assert f"@last is {WHOLE}  about x8" in done.stderr


def test_where_one_has_none_last_is_not_found() -> None:
    done, _ = cancel("@last")
    assert done.exit_code == ExitCode.NOT_FOUND
    assert "there is no run of yours yet" in done.stderr


def test_the_exact_name_of_a_record_is_never_taken_for_a_beginning() -> None:
    answers = {
        "/v1/ids": known("ses_abcd", "ses_abcde"),
        "/v1/sessions/ses_abcd/end": {"session_id": "s"},
    }
    with tiny_daemon(answers) as (url, asked):
        typed("--url", url, "sessions", "end", "ses_abcd")
    assert asked[-1].target == "/v1/sessions/ses_abcd/end"


def test_a_daemon_that_knows_no_beginnings_is_asked_for_what_was_typed() -> None:
    with tiny_daemon({f"/v1/runs/{CUT}/cancel": run_document(CUT)}) as (url, _):
        assert typed("--url", url, "runs", "cancel", CUT).exit_code == 0


@pytest.mark.parametrize(
    ("word", "names", "words"),
    [
        ("default2", ["default", "writer"], "did you mean 'default'?"),
        ("zzz", ["a", "b"], "there is: a, b"),
        ("zzz", ["a", "b", "c", "d", "e", "f"], "there is: a, b, c, d, e, …"),
        ("zzz", [], None),
    ],
)
def test_an_unknown_name_is_answered_with_what_there_is(
    word: str, names: list[str], words: str | None
) -> None:
    assert meant(word, names) == words


def test_ids_are_short_and_longer_where_two_would_be_alike() -> None:
    twin = WHOLE[:-1] + "9"
    assert shortened([WHOLE, OTHER, "demo"]) == {WHOLE: WHOLE[:15], OTHER: OTHER[:15]}
    assert shortened([WHOLE, twin]) == {WHOLE: WHOLE, twin: twin}


def test_the_kind_of_an_argument_is_told_by_what_help_calls_it() -> None:
    assert kinds_of({"run_id": RunId, "text": str, "session": str | None}) == {
        "run_id": "run",
        "session": "session",
    }


def test_a_word_of_three_characters_is_no_beginning() -> None:
    with tiny_daemon({"/v1/ids": known(WHOLE)}) as (url, asked):
        typed("--url", url, "runs", "cancel", "run_1nf")
    assert asked[0].target == "/v1/runs/run_1nf/cancel"
