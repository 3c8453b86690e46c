"""The page about the guard lists the rules as they are."""

from pathlib import Path

from understudy.guard.rule_book import rule_table

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "guard-rules.md").read_text()
START, END = "<!-- rules: from guard/rules.toml -->\n", "<!-- end of rules -->"


def test_the_page_has_the_table_that_the_rules_make() -> None:
    listed = PAGE.partition(START)[2].partition(END)[0]

    assert listed.strip() == rule_table().strip()
