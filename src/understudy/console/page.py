"""What a page is, and the list and record that are made from the declarations of the API."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from understudy.console.visits import Visit

Load = Callable[[Visit], Awaitable[dict[str, Any] | str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolePage:
    """One page."""

    path: str
    # Its entry in the navigation and the key of its title.
    name: str
    template: str
    # The operation whose answer the page shows.
    twin: str
    load: Load
    # Whether it takes forms itself, so that what somebody wrote survives a refusal; `load` finds
    # them in `visit.form`.
    takes_forms: bool = False

    @property
    def methods(self) -> list[str]:
        """The methods of HTTP that it answers."""
        return ["GET", "POST"] if self.takes_forms else ["GET"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A kind of thing that has a list and a page for each, both made from the API description."""

    name: str
    all: str
    one: str
    # The field of a record, and the parameter of `one`, that name it.
    key: str
    columns: tuple[str, ...]
    # The field that the page of a record begins with.
    title: str
    parameter: str = ""
    # A page of its own for one thing, where the record alone is not enough.
    template: str = "record.html"
    load: Load | None = None

    def pages(self) -> tuple[ConsolePage, ConsolePage]:
        """The list and the record."""
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
        # A record that says what its state allows is offered nothing else.
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
