"""What the status says of skills."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy.daemon.skill_status import MAX_SHOWN, skill_warnings

WELL: Mapping[str, Any] = {
    "skills": {"active": 3},
    "local_left_out": 0,
    "local_warnings": [],
    "folders_off": [],
    "damaged": 0,
    "damaged_versions": [],
    "shipped_refused": [],
}


def test_nothing_is_said_where_all_is_well() -> None:
    assert list(skill_warnings(WELL)) == []


def test_each_thing_that_needs_a_look_is_told_with_what_to_do() -> None:
    told = {
        "skills": {"active": 1, "archived": 2},
        "local_left_out": MAX_SHOWN + 3,
        "local_warnings": [
            {"path": str(Path("skills") / str(number)), "code": "unsafe", "detail": "no"}
            for number in range(MAX_SHOWN + 3)
        ],
        "folders_off": ["/home/ann/my skills"],
        "damaged": 1,
        "damaged_versions": [{"slug": "weekly", "version": 3}],
        "shipped_refused": [{"slug": "skill-creator", "reason": "the slug is taken"}],
    }
    found = list(skill_warnings(told))
    assert [each["code"] for each in found] == [
        "shipped_skill_refused",
        "skills_archived",
        "skill_versions_damaged",
        "skill_folder_off",
        *["local_skill_left_out"] * MAX_SHOWN,
    ]
    assert all(each["action"] for each in found)
    assert "weekly 3" in found[2]["message"]
    assert "skills roots add '/home/ann/my skills'" in found[3]["action"]


def test_who_is_not_told_which_is_told_how_many() -> None:
    found = list(skill_warnings({**WELL, "local_left_out": 7, "damaged": 2}))

    assert [each["code"] for each in found] == ["skill_versions_damaged", "local_skills_left_out"]
    assert [each["message"].rpartition(" ")[2] for each in found] == ["2", "7"]
