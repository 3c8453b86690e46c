"""What `/v1/status` says of promoted skills, and whom it tells what."""

from collections.abc import Sequence
from typing import Any

from understudy.daemon.rollout_status import FLAGS, MAX_SHOWN, WORDS, rollout_warnings
from understudy.rollout.mounts import MountTroubleCode


def rollouts(*troubles: dict[str, str], unreadable: Sequence[str] = ()) -> dict[str, Any]:
    return {"troubles": troubles, "unreadable": unreadable, "flagged": ()}


def test_a_daemon_in_order_warns_of_nothing() -> None:
    assert [*rollout_warnings(rollouts())] == []


def test_each_trouble_is_an_error_that_says_what_to_do() -> None:
    assert set(WORDS) == set(MountTroubleCode)
    troubles = [{"code": str(code), "name": "notes"} for code in MountTroubleCode]

    found = [*rollout_warnings(rollouts(*troubles))]

    assert [each["code"] for each in found] == [str(code) for code in MountTroubleCode]
    assert {each["severity"] for each in found} == {"error"}
    assert all("notes" in each["message"] and each["action"] for each in found)


def test_only_who_is_told_all_is_told_of_places() -> None:
    trouble = {"code": "rollout_shadowed", "name": "notes"}
    [plain] = rollout_warnings(rollouts(trouble))
    [full] = rollout_warnings(rollouts({**trouble, "detail": "/somewhere/SKILL.md"}))

    assert "/somewhere" not in plain["message"]
    assert "/somewhere" in full["message"]


def test_many_troubles_are_told_in_a_few_lines() -> None:
    troubles = [{"code": "rollout_unmounted", "name": f"notes-{at}"} for at in range(50)]

    found = [*rollout_warnings(rollouts(*troubles))]

    assert len(found) == MAX_SHOWN + 1
    assert "30" in found[-1]["message"]


def test_what_cannot_be_read_is_named_with_what_ends_it() -> None:
    [found] = rollout_warnings(rollouts(unreadable=["notes"]))
    assert (found["code"], found["related_id"]) == ("rollout_unmounted", "notes")
    assert "understudy rollouts revoke notes" in found["action"]

    many = [*rollout_warnings(rollouts(unreadable=[f"notes-{at}" for at in range(50)]))]
    assert len(many) == MAX_SHOWN + 1
    assert "30" in many[-1]["message"]


def test_what_the_daemon_held_or_took_back_is_worth_a_look_and_no_error() -> None:
    flagged = [
        {"code": code, "name": "notes", "status": "canary", "ends_at_ms": 0} for code in FLAGS
    ]

    found = [*rollout_warnings(rollouts() | {"flagged": flagged})]

    assert [each["code"] for each in found] == [
        "rollout_held",
        "rollout_demoted",
        "rollout_source_ends",
    ]
    assert {each["severity"] for each in found} == {"info"}
    assert "1970-01-01 00:00 UTC" in found[-1]["message"]
    assert all(each["related_id"] == "notes" for each in found)
    assert all("notes" in each["message"] and "notes" in each["action"] for each in found)
