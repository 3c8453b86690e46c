"""The rules as a table for the documentation."""

from understudy.guard.book import rules
from understudy.guard.rule import Category, Place, Rule


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
    everywhere = rule.places == frozenset(Place)
    where = (
        "everywhere" if everywhere else ", ".join(place for place in Place if place in rule.places)
    )
    return f"| `{rule.id}` | {rule.title} | {rule.reason} | {where} |"
