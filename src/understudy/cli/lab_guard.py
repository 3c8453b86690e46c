"""`understudy lab guard`: which skills may be kept, as production decides it, on JSON lines."""

from understudy.cli.lab import Line, answer_lines
from understudy.cli.options import Commands

commands = Commands("Guard what a skill holds.")


@commands("guard")
def guard() -> None:
    """Judge `files` (or one `text`) of each line: {"id","files"} → {"id","verdict","rules","findings"}."""
    answer_lines(_judged)


def _judged(line: Line) -> Line:
    from understudy.guard.file_kinds import MANIFEST_NAME
    from understudy.skills.scanning import scan_skill

    files = {MANIFEST_NAME: line["text"]} if "text" in line else line.get("files")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise TypeError("`files` must hold texts by their paths, or `text` one text")
    found = scan_skill({path: text.encode("utf-8", "replace") for path, text in files.items()})
    return {
        "verdict": "reject" if found else "allow",
        "rules": sorted({finding.rule_id for finding in found}),
        "findings": [
            {
                "rule_id": finding.rule_id,
                "category": str(finding.category),
                "path": finding.path,
                "line": finding.line,
                "reason": finding.reason,
            }
            for finding in found
        ],
    }
