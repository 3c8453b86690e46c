"""Learnings: what was published, and what became of it."""

from typing import Final

from understudy.console.page import Listing

PAGES: Final = Listing(
    name="learnings",
    all="learnings.list",
    one="learnings.get",
    key="learning_id",
    columns=("content", "kind", "scope", "status", "published_at_ms"),
    title="content",
).pages()
