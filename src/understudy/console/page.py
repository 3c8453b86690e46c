"""A page of the console, and the generic list and record pages made from the API description."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from understudy.console.visits import Visit

Load = Callable[[Visit], Awaitable[dict[str, Any] | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolePage:
    """One page: its path, template, and the operation whose answer it shows."""

    path: str
    # The name of the page: its navigation entry and the key of its title.
    name: str
    template: str
    # The operation whose JSON answer the page shows.
    twin: str
    load: Load
    # Whether the page accepts POST itself, so that the input survives a rejection; `load` finds it
    # in `visit.form`.
    takes_forms: bool = False

    @property
    def methods(self) -> list[str]:
        """The HTTP methods of the page."""
        return ["GET", "POST"] if self.takes_forms else ["GET"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A kind of record that has a list page and a record page, made from the API description."""

    name: str
    all: str
    one: str
    # The field that holds a record's id, and the parameter of `one`.
    key: str
    columns: tuple[str, ...]
    # The field that is the title of a record page.
    title: str
    parameter: str = ""
    # The template of the record page, where the generic one is not enough.
    template: str = "record.html"
    load: Load | None = None

    def pages(self) -> tuple[ConsolePage, ConsolePage]:
        """The list page and the record page."""
        path = f"/{self.name}"
        return (
            ConsolePage(
                path=path, name=self.name, template="list.html", twin=self.all, load=self._list
            ),
            ConsolePage(
                path=f"{path}/{{id}}",
                name=self.name,
                template=self.template,
                twin=self.one,
                load=self.load or self._record,
            ),
        )

    async def _list(self, visit: Visit) -> dict[str, Any]:
        page = await visit.call(self.all, **{"limit": 50, **visit.query})
        return {
            "listing": self,
            "items": page["items"],
            "next": page.get("next_cursor"),
            "filters": await visit.filters(self.all),
        }

    async def _record(self, visit: Visit) -> dict[str, Any]:
        values = {self.parameter or self.key: visit.request.path_params["id"]}
        record = await visit.call(self.one, **values)
        # A record that lists its allowed `actions` is offered no others.
        allowed = record.get("actions")
        actions = [
            each
            for each in visit.surface.actions(self.one)
            if visit.may(each) and (allowed is None or each.rpartition(".")[2] in allowed)
        ]
        return {
            "listing": self,
            "record": record,
            "actions": actions,
            "ids": values,
            "twin": values,
        }
