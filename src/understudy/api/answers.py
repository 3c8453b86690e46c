"""Answers as JSON: records are serialised as they are, and whatever is stored can be shown."""

from typing import Annotated, Any, Final

from pydantic import SerializerFunctionWrapHandler, TypeAdapter, WrapSerializer
from starlette.responses import Response

from understudy.core.showable import showable

# What came from outside must run nothing and load nothing, wherever it is opened.
RAW_HEADERS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


def showable_answer(kind: Any) -> Any:
    """The type of an answer, whose values are put into a form that JSON can carry."""
    if isinstance(kind, type) and issubclass(kind, Response):
        return kind
    # A lambda, as pydantic would take the return type of a function for that of the answer.
    return Annotated[kind, WrapSerializer(lambda value, handler: _tree(kind, value, handler))]


def _tree(kind: Any, value: Any, handler: SerializerFunctionWrapHandler) -> Any:
    try:
        tree = handler(value)
    except ValueError:
        # Nested deeper than pydantic follows on the way to JSON.
        tree = TypeAdapter(kind).dump_python(value, by_alias=True)
    return showable(tree)
