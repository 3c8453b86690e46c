"""Request bodies read strictly, and once."""

from typing import Any, Final

from starlette.requests import Request

from understudy.core.strict_json import check_text as check_text
from understudy.core.strict_json import parse

JSON_TYPES: Final = ("application/json",)


class StrictRequest(Request):
    """A request whose JSON is parsed once, and checked."""

    async def json(self) -> Any:
        if not hasattr(self, "_strict"):
            self._strict = parse(await self.body())
        return self._strict

    @property
    def has_json(self) -> bool:
        """Whether the caller says that the body is JSON."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return kind in JSON_TYPES or (kind.startswith("application/") and kind.endswith("+json"))
