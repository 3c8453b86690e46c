"""What a model is asked about a run, and what is believed of its answer."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.learning_factories import make_learning
from tests.support.run_harness import make_settings
from understudy.core.errors import Unavailable
from understudy.learnings.capture_settings import ModelChoice, SemanticCaptureSettings
from understudy.learnings.extraction import Extraction, Extractor, FoundStatement, Material
from understudy.learnings.model import Applies, CapturePath, Relation, StatedRelation
from understudy.providers.registry import Routes
from understudy.providers.structured import StructuredModel
from understudy.settings import RouteConfig
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

HELIX = {"kind": "preference", "content": "Preferred editor is Helix."}
# Assembled, so that no scanner takes it for a real one.
KEY = "sk-" + "proj-" + "abc123def456ghi789"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        fake.script_captures = True
        yield fake


@pytest.fixture
async def routes(tmp_path: Path, fake: FakeModel) -> AsyncIterator[Routes]:
    known = make_settings(tmp_path, fake.url, "a", "b").routes
    offline = RouteConfig(provider="scripted")
    routes = Routes(make_settings(tmp_path, routes={**known, "offline": offline}))
    yield routes
    await routes.close()


def material(request: str = "I always edit in Helix.", **fields: Any) -> Material:
    values: dict[str, Any] = {
        "run_id": "run_1",
        "session_id": "s1",
        "kind": "input",
        "status": "completed",
        "outcome": "Noted.",
    }
    return Material(request=request, **(values | fields))


async def extract(
    routes: Routes, request: str = "I always edit in Helix.", default: str = "a", **settings: Any
) -> tuple[FoundStatement, ...]:
    values: dict[str, Any] = {"enabled": True, "max_candidates_per_run": 3}
    extractor = Extractor(StructuredModel(routes, lambda: default))
    found = await extractor.extract(
        material(request), SemanticCaptureSettings(**(values | settings))
    )
    return found.statements


async def answered(routes: Routes, fake: FakeModel, answer: object) -> list[tuple[str, str, int]]:
    fake.queue(json.dumps(answer))
    found = await extract(routes)
    assert all(it.path is CapturePath.MODEL for it in found)
    return [(str(it.kind), it.content, it.confidence) for it in found]


async def test_an_answer_is_collapsed_clamped_and_cleared_of_repeats_and_other_kinds(
    routes: Routes, fake: FakeModel
) -> None:
    answer = {
        "candidate_1": {
            "kind": "preference",
            "content": "  Preferred   editor is Helix. ",
            "confidence": 101,
        },
        "candidate_2": {"kind": "preference", "content": "preferred editor: helix"},
        "candidate_3": {"kind": "procedure", "content": "Open Helix first."},
    }
    assert await answered(routes, fake, answer) == [
        ("preference", "Preferred editor is Helix.", 100)
    ]


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [(None, 80), (90, 90), (101, 100), (-5, 0), (72.9, 72), (1e300, 100), (True, 80), ("99", 80)],
)
async def test_confidence_is_a_whole_number_within_its_bounds(
    routes: Routes, fake: FakeModel, confidence: object, expected: int
) -> None:
    answer = {"candidate_1": {**HELIX, "confidence": confidence}}
    assert [it[2] for it in await answered(routes, fake, answer)] == [expected]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"candidate_1": None},
        {"candidate_1": "Preferred editor is Helix."},
        {"candidate_1": {"kind": "preference"}},
        {"candidate_1": {"kind": "preference", "content": "  "}},
        {"candidate_1": {"kind": "preference", "content": 7}},
        {"candidate_1": {"kind": ["preference"], "content": "x is y"}},
        {"candidate_1": {"kind": "run_summary", "content": "x is y"}},
        {"candidate_1": {"kind": "fact", "content": f"The key is {KEY}"}},
        {"candidate_1": {"kind": "fact", "content": "x" * 1601}},
        {"candidate_1": {"kind": "fact", "content": "none"}},
        {"candidate_1": {"kind": "fact", "content": "Is the port 80?"}},
        {"candidate_9": HELIX},
        {"candidates": [None, "Preferred editor is Helix.", {"kind": "preference"}]},
    ],
)
async def test_what_is_not_in_the_agreed_form_is_no_proposal(
    routes: Routes, fake: FakeModel, answer: object
) -> None:
    assert await answered(routes, fake, answer) == []


async def test_no_more_are_taken_than_the_settings_allow(routes: Routes, fake: FakeModel) -> None:
    fake.queue(
        json.dumps(
            {f"candidate_{n}": {"kind": "fact", "content": f"port {n} is {n}0"} for n in (1, 2, 3)}
        )
    )
    found = await extract(routes, max_candidates_per_run=2)
    assert [it.content for it in found] == ["port 1 is 10", "port 2 is 20"]


async def test_labels_and_the_model_are_both_asked_and_duplicates_fall_together(
    routes: Routes, fake: FakeModel
) -> None:
    said = ("The project codename is Atlas.", "The user's codename is Atlas", "HQ is in Oslo")
    answer = {
        f"candidate_{number}": {"kind": "decision", "content": content}
        for number, content in enumerate(said, 1)
    }
    fake.queue(json.dumps(answer))
    found = await extract(routes, "Fact: Project codename is Atlas. Our HQ is in Oslo.")
    assert [(it.content, it.path) for it in found] == [
        ("Project codename is Atlas", CapturePath.LABELS),
        ("The user's codename is Atlas", CapturePath.MODEL),
        ("HQ is in Oslo", CapturePath.MODEL),
    ]


async def test_a_denial_repeats_no_labelled_statement(routes: Routes, fake: FakeModel) -> None:
    answer = {"candidate_1": {"kind": "fact", "content": "We do not use Kafka"}}
    fake.queue(json.dumps(answer))
    found = await extract(routes, "Fact: We use Kafka")
    assert [it.content for it in found] == ["We use Kafka", "We do not use Kafka"]


async def test_an_answer_that_cannot_be_used_is_asked_for_once_more_with_the_reason(
    routes: Routes, fake: FakeModel
) -> None:
    fake.queue(json.dumps({"candidates": "Helix"}), json.dumps({"candidates": [HELIX]}))
    assert [it.content for it in await extract(routes)] == [HELIX["content"]]
    _, again = fake.requests
    asked = json.loads(again.last_user)
    assert "`candidates` is no list" in asked["problem_of_last_answer"]
    assert asked["request"] == "I always edit in Helix."


async def test_a_second_answer_that_cannot_be_used_fails(routes: Routes, fake: FakeModel) -> None:
    fake.queue("Helix", "Helix!")
    with pytest.raises(Unavailable, match="no JSON object"):
        await extract(routes)
    assert len(fake.requests) == 2


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_server_that_knows_no_schema_is_asked_without_one(
    routes: Routes, fake: FakeModel, is_known: bool
) -> None:
    answer = json.dumps({"candidates": [HELIX]})
    refusal = Answer(status=400, error="Unrecognized field: response_format")
    fake.queue(*([] if is_known else [refusal]), answer, answer)
    for _ in range(2):
        assert [it.content for it in await extract(routes)] == [HELIX["content"]]
    sent = ["response_format" in it.body for it in fake.requests]
    assert sent == ([True, True] if is_known else [True, False, False])


UNTIL = "2100-01-31"


@pytest.mark.parametrize(
    ("given", "end"),
    [
        (UNTIL, datetime(2100, 2, 1, tzinfo=UTC)),
        (f"{UNTIL}T18:00:00+07:00", datetime(2100, 1, 31, 11, tzinfo=UTC)),
        (f"{UNTIL} 18:00", datetime(2100, 1, 31, 18, tzinfo=UTC)),
        ("1969-12-31", None),
        ("9999-12-31", None),
        ("Friday", None),
        (None, None),
        (20, None),
    ],
)
async def test_an_end_is_taken_where_it_is_a_date_or_a_time_to_come(
    routes: Routes, fake: FakeModel, given: object, end: datetime | None
) -> None:
    fake.queue(json.dumps({"candidates": [{**HELIX, "until": given}]}))
    (found,) = await extract(routes)
    assert found.expires_at_ms == (None if end is None else int(end.timestamp() * 1000))


@pytest.mark.parametrize(
    ("given", "applies"),
    [(True, Applies.ALWAYS), (False, Applies.WHEN_RELEVANT), (None, None), ("yes", None)],
)
async def test_standing_is_what_the_model_says_and_else_left_open(
    routes: Routes, fake: FakeModel, given: object, applies: Applies | None
) -> None:
    fake.queue(json.dumps({"candidates": [{**HELIX, "standing": given}]}))
    (found,) = await extract(routes)
    assert found.applies is applies


async def test_relations_are_taken_to_learnings_that_were_given(
    routes: Routes, fake: FakeModel
) -> None:
    known = (make_learning("The editor is Vim", learning_id="lrn_1"),)
    said: list[object] = [
        {"id": "lrn_1", "is": "contradicts"},
        {"id": "lrn_1", "is": "same"},
        {"id": "lrn_2", "is": "same"},
        {"id": "lrn_1", "is": "unknown"},
        {"id": 1, "is": "same"},
        "lrn_1",
    ]
    fake.queue(json.dumps({"candidates": [{**HELIX, "relations": said}]}))
    extractor = Extractor(StructuredModel(routes, lambda: "a"))
    found = await extractor.extract(material(known=known), SemanticCaptureSettings())
    (statement,) = found.statements
    assert statement.relations == (
        StatedRelation(learning_id="lrn_1", relation=Relation.CONTRADICTS),
    )
    asked = json.loads(fake.requests[-1].last_user)
    assert asked["known"] == [{"id": "lrn_1", "kind": "fact", "content": "The editor is Vim"}]


async def test_parts_that_others_wrote_are_marked_for_the_model(
    routes: Routes, fake: FakeModel
) -> None:
    fake.queue("{}")
    await extract(routes, "I use Helix.\n> We use ⟧Vim\nFix it.")
    asked = json.loads(fake.requests[-1].last_user)
    assert asked["request"] == "I use Helix.\n⟦> We use  Vim⟧\nFix it."


async def test_a_quote_with_a_secret_is_dropped(routes: Routes, fake: FakeModel) -> None:
    fake.queue(json.dumps({"candidates": [{**HELIX, "quote": f"my key is {KEY}"}]}))
    (found,) = await extract(routes)
    assert found.quote is None


@pytest.mark.parametrize(
    "request_text",
    [
        "Decision: we use Kafka. No wait, scratch that.",
        "Preference: short answers. Just kidding!",
        "决定：用 Kafka。算了",
        "Quyết định: dùng Kafka. À không, quên đi",
    ],
)
async def test_a_label_that_the_next_words_take_back_is_no_statement(
    routes: Routes, request_text: str
) -> None:
    assert await extract(routes, request_text, default="offline") == ()


@pytest.mark.parametrize(
    ("request_text", "kind", "is_asked"),
    [
        ("Call me Sam", "input", True),
        ("我住在成都", "input", True),
        ("/etc/hosts is ours", "input", True),
        ("", "input", False),
        ("Hello!", "input", False),
        ("/remember metric units", "input", False),
        ("Report the backlog", "scheduled_input", False),
        ("Go on with the goal", "goal_continuation", False),
        ("I moved to Graz", "mailbox_delivery", True),
    ],
)
def test_a_model_is_asked_about_what_a_person_may_have_stated(
    request_text: str, kind: str, is_asked: bool
) -> None:
    assert material(request_text, kind=kind).may_hold_statements is is_asked


async def test_no_model_is_asked_about_a_request_that_states_nothing(
    routes: Routes, fake: FakeModel
) -> None:
    assert await extract(routes, "Hello!") == ()
    assert not fake.requests


async def test_the_script_is_asked_nothing(routes: Routes) -> None:
    assert await extract(routes, default="offline") == ()
    (found,) = await extract(routes, "Fact: Project codename is Atlas.", default="offline")
    assert found.path is CapturePath.LABELS


async def test_a_run_on_the_script_is_read_without_a_model(routes: Routes, fake: FakeModel) -> None:
    extractor = Extractor(StructuredModel(routes, lambda: "a"))
    settings = SemanticCaptureSettings(enabled=True, max_candidates_per_run=3)
    assert await extractor.extract(material(route_id="offline"), settings) == Extraction()
    assert fake.requests == []


async def test_the_model_is_told_what_it_may_answer_and_takes_the_chosen_route(
    routes: Routes, fake: FakeModel
) -> None:
    fake.queue("{}")
    choice = ModelChoice(provider="b", generation={"temperature": 0})
    await extract(routes, model=choice)
    (seen,) = fake.requests
    assert (seen.body["model"], seen.body["temperature"]) == ("model-b", 0)
    assert json.loads(seen.turns[1].text) == {
        "run_id": "run_1",
        "session_id": "s1",
        "run_kind": "input",
        "status": "completed",
        "request": "I always edit in Helix.",
        "outcome": "Noted.",
        "now": "1970-01-01T00:00:00+00:00",
        "labels": [],
        "known": [],
        "failure_markers": [],
        "allowed_kinds": ["decision", "fact", "preference"],
        "max_candidates": 3,
    }


@pytest.mark.parametrize(
    ("answer", "timeout_ms", "code"),
    [
        (Answer(text="{}", stall=True), 200, "model_timeout"),
        # Two answers within a time that a busy machine can keep.
        ("No.", 60_000, "model_answer_unusable"),
    ],
)
async def test_a_model_that_is_late_or_says_something_else_is_an_error(
    routes: Routes, fake: FakeModel, answer: Answer | str, timeout_ms: int, code: str
) -> None:
    fake.queue(answer, answer)
    with pytest.raises(Unavailable) as failed:
        await extract(routes, timeout_ms=timeout_ms)
    assert failed.value.code == code
