"""`lab guard` judges skills as production does."""

import json
from typing import Any

from tests.support.command_line_in_process import typed


def judged(*lines: Any) -> tuple[int, list[Any]]:
    given = "".join(f"{json.dumps(line)}\n" for line in lines)
    result = typed("lab", "guard", stdin=given)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_each_skill_is_allowed_or_rejected_with_every_finding() -> None:
    code, answers = judged(
        {"id": "1", "files": {"SKILL.md": "# Notes\n", "scripts/a.sh": "ls\n"}},
        {"id": "2", "files": {"SKILL.md": "# Notes\n", "scripts/a.sh": "ls\nrm -rf /\n"}},
        {"id": "3", "text": "sudo apt install jq"},
    )

    assert code == 0
    assert [(answer["id"], answer["verdict"], answer["rules"]) for answer in answers] == [
        ("1", "allow", []),
        ("2", "reject", ["D1.rm_root_home"]),
        ("3", "reject", ["P1.sudo"]),
    ]
    assert answers[1]["findings"] == [
        {
            "rule_id": "D1.rm_root_home",
            "category": "destructive_shell",
            "path": "scripts/a.sh",
            "line": 2,
            "reason": "removes everything below the root of the machine or a home directory",
        }
    ]


def test_a_line_without_files_is_refused() -> None:
    assert judged({"id": "1", "files": {"SKILL.md": 1}})[0] == 2
    assert judged({"id": "1"})[0] == 2
