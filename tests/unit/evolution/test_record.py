"""How the record of an agent is read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

from tests.support.factories import ADMIN, NOW, make_agent, make_file
from understudy.agents.model import ContextFile
from understudy.core.page import Page, PageRequest
from understudy.evolution.record import EntryKind, EntryRef, EvolutionRecord, SoulVersionEntry


class Book:
    """Two versions of SOUL.md, and whether anybody holds the unit that they are read in."""

    def __init__(self) -> None:
        self.is_open = False

    @contextmanager
    def read(self) -> Iterator[Any]:
        self.is_open = True
        places = [
            EntryRef(kind=EntryKind.SOUL_VERSION, at_ms=NOW, id="SOUL.md", number=number)
            for number in (2, 1)
        ]
        yield SimpleNamespace(
            agents=SimpleNamespace(get=lambda _: make_agent("evolver"), file=self._file),
            evolution=SimpleNamespace(page=lambda *_, **__: Page(items=tuple(places))),
        )
        self.is_open = False

    def _file(self, _agent: str, _name: str, *, version: int) -> ContextFile:
        return make_file(content=Text(f"Be {version}.\n", self), version=version)


class Text(str):
    """Notices when it is taken apart."""

    book: Book

    def __new__(cls, text: str, book: Book) -> "Text":
        made = super().__new__(cls, text)
        made.book = book
        return made

    def splitlines(self, keepends: bool = False) -> Any:
        assert not self.book.is_open
        return super().splitlines(keepends)


def test_texts_are_compared_once_the_unit_is_over() -> None:
    book = Book()

    page = EvolutionRecord(cast("Any", book)).page(ADMIN, "evolver", PageRequest())

    entries = cast("Sequence[SoulVersionEntry]", page.items)
    assert ["+Be 2." in (each.diff or "") for each in entries] == [True, False]
    assert "+Be 1." in (entries[1].diff or "")
