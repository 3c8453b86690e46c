"""Looks at texts that can well do without anything that might be a secret, be it an example."""

from dataclasses import replace
from functools import cache

from understudy.redaction.rules import secret_tables
from understudy.redaction.search import Searcher
from understudy.redaction.views import views


def holds_secret(text: str) -> bool:
    """Whether a text has the beginning of a secret with enough behind it, whatever that says."""
    searcher = _searcher()
    return any(True for view in views(text) for _ in searcher.find(view.text))


@cache
def _searcher() -> Searcher:
    """The same rules, each with what it takes here."""
    return Searcher(
        *(
            [replace(rule, pick=rule.strict) for rule in table if rule.strict is not None]
            for table in secret_tables()
        )
    )
