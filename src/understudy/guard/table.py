"""The rules as a table for the documentation."""

from understudy.guard.book import rules
from understudy.guard.rule import Category, FileKind, Rule


def rule_table() -> str:
    """Every rule by category, with where it looks and what it says."""
    lines: list[str] = []
    for category in Category:
        lines += [
            f"### `{category}`",
            "",
            "| rule | what | a finding says: it … | where |",
            "|---|---|---|---|",
        ]
        lines += [_row(rule) for rule in rules() if rule.category is category]
        lines.append("")
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    everywhere = rule.kinds == frozenset(FileKind)
    where = (
        "everywhere" if everywhere else ", ".join(kind for kind in FileKind if kind in rule.kinds)
    )
    return f"| `{rule.id}` | {rule.title} | {rule.reason} | {where} |"
