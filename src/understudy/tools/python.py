"""Functions of other packages as tools, found by the entry points `understudy.tools`.

A package names its functions in its `pyproject.toml`; the daemon loads them at its start.
"""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeVar, get_type_hints

import structlog
from pydantic import BaseModel, create_model

from understudy.tools.base import Approval, Effect, Parameters, ToolContext, ToolError, in_thread

log = structlog.get_logger()

GROUP: Final = "understudy.tools"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
# A call has a value for each name.
_UNNAMED: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)
_DECLARED: Final = "understudy_tool"
Function = TypeVar("Function", bound=Callable[..., Any])


def tool(
    *,
    effect: Literal["read", "idempotent", "once"],
    approval: Literal["never", "always"],
    name: str | None = None,
) -> Callable[[Function], Function]:
    """Declare what a repeated call of a function does, and whether a person approves each call.

    The signature becomes the parameters, the docstring the description. A parameter annotated with
    `ToolContext` is given the run, its user and its folder.
    """
    declared = (Effect(effect), Approval(approval), name)

    def declare(function: Function) -> Function:
        setattr(function, _DECLARED, declared)
        return function

    return declare


@dataclass(slots=True)
class PythonTool:
    """A function as a tool."""

    name: str
    description: str
    effect: Effect
    approval: Approval
    parameters: type[BaseModel]
    function: Callable[..., Any]
    # The parameter that is given the context of the call.
    context: str | None = None

    @classmethod
    def of(cls, function: Callable[..., Any], name: str) -> "PythonTool":
        """The tool of a declared function; raises `TypeError` for one that cannot be a tool."""
        declared = getattr(function, _DECLARED, None)
        description = inspect.getdoc(function)
        if declared is None or not description:
            raise TypeError("it needs the decorator `understudy.tools.python.tool` and a docstring")
        effect, approval, own_name = declared
        if not _NAME.fullmatch(own_name or name):
            raise TypeError("its name has at most 64 letters, digits, hyphens and underscores")
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        context = None
        for each in inspect.signature(function).parameters.values():
            if hints.get(each.name) is ToolContext:
                context = each.name
            elif each.name not in hints or each.kind in _UNNAMED:
                raise TypeError(f"its parameter {each.name!r} needs a name and a type")
            else:
                default = ... if each.default is each.empty else each.default
                fields[each.name] = (hints[each.name], default)
        parameters = create_model(own_name or name, __base__=Parameters, **fields)
        return cls(own_name or name, description, effect, approval, parameters, function, context)

    async def call(self, arguments: BaseModel, context: ToolContext) -> str:
        """Call the function; a text is the result as it is, anything else as JSON."""
        given = {field: getattr(arguments, field) for field in type(arguments).model_fields}
        if self.context is not None:
            given[self.context] = context
        try:
            if inspect.iscoroutinefunction(self.function):
                result = await self.function(**given)
            else:
                result = await in_thread(self.function, **given)
            return result if isinstance(result, str) else json.dumps(result, default=str)
        except (ToolError, TimeoutError):
            raise
        except Exception as problem:
            log.exception("tool.failed", tool=self.name, run_id=context.run_id)
            raise ToolError(f"{type(problem).__name__}: {problem}") from problem


def python_tools(taken: Collection[str]) -> Iterator[PythonTool]:
    """The tools of the installed packages; one that cannot be loaded is logged and left out."""
    names = set(taken)
    for entry in sorted(entry_points(group=GROUP), key=lambda it: it.name):
        try:
            found = PythonTool.of(entry.load(), entry.name)
        except Exception as problem:
            log.exception("tool.left_out", tool=entry.name, reason=str(problem))
            continue
        if found.name in names:
            log.error("tool.left_out", tool=entry.name, reason=f"{found.name!r} is taken")
            continue
        names.add(found.name)
        yield found
