"""What a caller may send to start a run."""

import pytest

from tests.support.factories import ODD_TEXTS, make_run
from understudy.agents.model import MAX_TOOL_ITERATIONS
from understudy.assets.contents import draft_of_bytes
from understudy.core.errors import Invalid
from understudy.runs.lifecycle import input_event
from understudy.runs.model import InputItem, RunInput
from understudy.runs.submission import (
    Submission,
    check_idempotency_key,
    check_limits,
    fingerprint,
    hash_key,
    items_of,
    request_json,
)
from understudy.sessions.journal import DAEMON_OWNED_METADATA, caller_metadata
from understudy.sessions.model import ReplyTarget


def text(content: str) -> InputItem:
    return InputItem(type="text", text=content)


def accept(submission: Submission) -> None:
    check_limits(submission)
    items_of(submission)


def refusal(submission: Submission) -> Invalid:
    with pytest.raises(Invalid) as refused:
        accept(submission)
    return refused.value


def test_content_becomes_one_text_item_as_it_was_written() -> None:
    assert items_of(Submission(content=" hello\n")) == {"/content": text(" hello\n")}


def test_items_keep_their_order_and_are_joined_by_line_breaks() -> None:
    given = items_of(Submission(input_items=(text("one"), text("two"), text("three"))))

    assert list(given) == ["/input_items/0", "/input_items/1", "/input_items/2"]
    assert RunInput(items=(text("one"), text("two"))).text == "one\ntwo"


def test_attachments_follow_the_content_and_know_their_place() -> None:
    given = items_of(Submission(content="see", attachments=("ast_1", "ast_2")))

    assert list(given) == ["/content", "/attachments/0", "/attachments/1"]
    assert given["/attachments/1"] == InputItem(
        type="asset_reference", asset_id="ast_2", given_as="attachment"
    )


@pytest.mark.parametrize(
    "submission",
    [
        Submission(attachments=("ast_1",)),
        Submission(content="  ", attachments=("ast_1",)),
        Submission(input_items=(InputItem(type="asset_reference", asset_id="ast_1"),)),
        Submission(input_items=(draft_of_bytes(b"hello", file_name="a.txt"),)),
    ],
)
def test_a_file_alone_is_an_input(submission: Submission) -> None:
    assert len(items_of(submission)) == 1


def test_files_of_other_content_are_another_request() -> None:
    def asked(data: bytes) -> str:
        draft = draft_of_bytes(data, file_name="a.txt")
        return fingerprint("runs.submit", request_json(Submission(input_items=(draft,))))

    assert asked(b"one") == asked(b"one") != asked(b"two")


def test_a_request_is_known_by_what_every_version_stored_of_it() -> None:
    [item] = request_json(Submission(input_items=(text("hi"),)))["input_items"]

    assert list(item) == ["type", "text", "asset_id", "file_name", "media_type", "size"]


@pytest.mark.parametrize(
    "mixed",
    [
        Submission(content="hi", input_items=(text("hi"),)),
        Submission(attachments=("asset_1",), input_items=(text("hi"),)),
    ],
)
def test_items_and_content_are_not_mixed(mixed: Submission) -> None:
    assert refusal(mixed).code == "input_mixed"


@pytest.mark.parametrize(
    "empty",
    [
        Submission(),
        Submission(content=" \n\t"),
        Submission(input_items=(text(""),)),
        Submission(input_items=(text("  "), text("\n"))),
    ],
)
def test_something_must_be_given(empty: Submission) -> None:
    assert refusal(empty).code == "input_empty"


def test_one_text_among_blanks_is_enough() -> None:
    assert len(items_of(Submission(input_items=(text(""), text("hi"))))) == 2


@pytest.mark.parametrize("limit", [0, -1, MAX_TOOL_ITERATIONS + 1])
def test_a_budget_out_of_range_is_refused(limit: int) -> None:
    problem = refusal(Submission(content="hi", max_tool_iterations=limit))

    assert problem.code == "invalid_max_tool_iterations"


@pytest.mark.parametrize("limit", [None, 1, MAX_TOOL_ITERATIONS])
def test_a_budget_in_range_is_taken(limit: int | None) -> None:
    check_limits(Submission(content="hi", max_tool_iterations=limit))


@pytest.mark.parametrize(("plugin", "address"), [("pigeon", "roof"), ("http", " "), ("", "x")])
def test_a_reply_target_that_nothing_delivers_to_is_refused(plugin: str, address: str) -> None:
    targets = (
        ReplyTarget(plugin="local", address="inbox"),
        ReplyTarget(plugin=plugin, address=address),
    )

    problem = refusal(Submission(content="hi", reply_targets=targets))

    assert problem.code == "invalid_reply_target"
    assert problem.errors[0].pointer == "/reply_targets/1"


def test_daemon_owned_keys_of_a_callers_metadata_are_dropped() -> None:
    metadata = dict.fromkeys(DAEMON_OWNED_METADATA, "forged") | {"ticket": 7}

    assert caller_metadata(metadata) == {"ticket": 7}


@pytest.mark.parametrize("key", ["learned_context", "recovered_memory"])
def test_a_caller_cannot_inject_memory(key: str) -> None:
    assert caller_metadata({key: "obey"}) == {}


@pytest.mark.parametrize("metadata", ["note", 7, ["a"], False])
def test_metadata_that_is_no_object_is_wrapped(metadata: object) -> None:
    assert caller_metadata(metadata) == {"user_metadata": metadata}


def test_no_metadata_stays_none() -> None:
    assert caller_metadata(None) is None


def test_the_journal_gets_the_items_and_asset_ids_but_no_paths() -> None:
    items = (
        text("see"),
        InputItem(type="asset_reference", asset_id="asset_1", file_name="/home/me/cat.png"),
    )
    run = make_run(input=RunInput(items=items, metadata={"ticket": 7}))

    assert input_event(run).data == {
        "items": [
            {"type": "text", "text": "see"},
            {"type": "asset_reference", "asset_id": "asset_1"},
        ],
        "user_id": "alice",
        "metadata": {"ticket": 7},
    }


@pytest.mark.parametrize("key", ["k", " padded ", "k" * 256, "é" * 128, "with blank inside"])
def test_an_idempotency_key_is_trimmed_and_taken(key: str) -> None:
    assert check_idempotency_key(key) == key.strip()


@pytest.mark.parametrize(
    "key",
    ["", "   ", "k" * 257, "é" * 129, "a\nb", "a\x00b", "a\x7fb", "a\x85b", "\ud800", "\t\n"],
)
def test_a_bad_idempotency_key_is_refused(key: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_idempotency_key(key)

    assert (refused.value.domain, refused.value.code) == (
        "idempotency",
        "invalid_idempotency_key",
    )


def test_keys_of_different_users_never_meet() -> None:
    assert hash_key("alice", "k") != hash_key("bob", "k")
    assert hash_key("a", "b\0c") == hash_key("a", "b\0c")


def test_a_fingerprint_tells_a_repeat_from_another_request() -> None:
    first = fingerprint("runs.submit", {"content": "a", "n": 1})

    assert first == fingerprint("runs.submit", {"n": 1, "content": "a"})
    assert first != fingerprint("runs.submit", {"content": "b", "n": 1})
    assert first != fingerprint("runs.resume", {"content": "a", "n": 1})


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_any_text_has_a_fingerprint(odd: str) -> None:
    assert fingerprint("runs.submit", {"content": odd}) != fingerprint("runs.submit", {})
