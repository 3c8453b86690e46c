"""Rollouts: procedures on their way to a skill."""

from typing import Final

from understudy.console.page import Listing

PAGES: Final = Listing(
    name="rollouts",
    all="rollouts.list",
    one="rollouts.get",
    key="skill_name",
    columns=("skill_name", "status", "source_learning_id", "updated_at_ms"),
    title="skill_name",
).pages()
