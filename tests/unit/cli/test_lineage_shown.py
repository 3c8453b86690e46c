"""The lineage of a learning as a tree."""

from typing import Any

from tests.unit.cli.learning_parts import item_document, learning_document, related_document
from understudy.cli.learnings import HERE, lineage_lines
from understudy.core.records import parsed
from understudy.learnings.lineage import Lineage

RUN = {
    "run_id": "run_1",
    "session_id": "demo",
    "agent_id": "default",
    "status": "completed",
    "submitted_at_ms": 1,
}
USE = {"run_id": "run_2", "session_id": "demo", "learning_version": 3, "at_ms": 1}
REVIEW: dict[str, Any] = {
    "mode": "shadow",
    "action": "publish_active",
    "reviewed_at_ms": 1,
    "policy_revision": 2,
    "reason": "rule 1 says publish_active",
    "judge": {"action": "publish_active", "judged_at_ms": 1, "reason": "plainly said"},
}


def lines(**more: Any) -> list[str]:
    document = {
        "learning": learning_document(),
        "reviews": [],
        "replaced": [],
        "replaced_by": [],
        "use_count": 0,
        "uses": {"items": [], "next_cursor": None},
        **more,
    }
    return lineage_lines(parsed(Lineage, document))


def begins(shown: list[str]) -> list[str]:
    """The branches, without what is said on them."""
    return [line.partition(":")[0].partition(",")[0] for line in shown]


def published(learning_id: str) -> dict[str, Any]:
    """The candidate that became this learning."""
    return item_document(
        state="published", decided_by="mai", decided_at_ms=1, published_learning_id=learning_id
    )


def test_the_chain_is_drawn_both_ways() -> None:
    shown = lines(
        source_run=RUN,
        candidate=published("lrn_a"),
        reviews=[REVIEW],
        replaced=[related_document("lrn_b"), related_document("lrn_a")],
        replaced_by=[related_document("lrn_d"), related_document("lrn_e")],
        uses={"items": [USE], "next_cursor": "more"},
        use_count=3,
    )

    assert begins(shown) == [
        "run run_1 (completed)",
        "└─ candidate cand_1",
        "   ├─ review",
        "   │  └─ judge",
        "   └─ learning lrn_a",
        "      └─ learning lrn_b",
        "         └─ learning lrn_1",
        "            ├─ told to run run_2",
        "            ├─ told to 2 more runs",
        "            └─ replaced by learning lrn_d",
        "               └─ replaced by learning lrn_e",
    ]
    assert [line.endswith(HERE) for line in shown].index(True) == 6
    assert "published by mai" in shown[1]
    assert "plainly said" in shown[3]
    assert "version 3" in shown[7]


def test_what_a_candidate_replaced_did_not_come_from_it() -> None:
    older = [related_document("lrn_b"), related_document("lrn_a")]

    own = lines(candidate=published("lrn_1"), replaced=older)
    between = lines(candidate=published("lrn_b"), replaced=older)

    assert begins(own)[1:] == [
        "└─ candidate cand_1",
        "   └─ learning lrn_1",
        "      ├─ in the place of learning lrn_b",
        "      ├─ in the place of learning lrn_a",
        "      └─ told to no run",
    ]
    assert begins(between)[1:] == [
        "└─ candidate cand_1",
        "   └─ learning lrn_b",
        "      ├─ in the place of learning lrn_a",
        "      └─ learning lrn_1",
        "         └─ told to no run",
    ]


def test_one_that_somebody_wrote_has_no_run() -> None:
    shown = lines(learning=learning_document(source={}))

    assert shown[0] == "no run: somebody wrote it"
    assert shown[-1] == "   └─ told to no run"


def test_a_run_that_is_gone_is_still_named() -> None:
    assert lines()[0] == "run run_1, session demo (no longer there)"


def test_nothing_in_it_can_drive_a_terminal() -> None:
    hostile = "\x1b[31mred\x07\nline"
    shown = lines(
        learning=learning_document(
            content=hostile, status="revoked", revoked_reason=hostile, source={"run_id": hostile}
        ),
        candidate=item_document(),
        reviews=[{**REVIEW, "judge": {**REVIEW["judge"], "reason": hostile}}],
        replaced=[related_document("lrn_a", hostile)],
    )

    assert all(line.isprintable() for line in shown)
    assert sum("\\x1b[31mred" in line for line in shown) == 4
