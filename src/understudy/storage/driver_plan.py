"""How the driver executes a statement that SQLAlchemy has compiled before.

For every execution SQLAlchemy looks up the compiled form, builds a context and wraps the cursor:
several times the CPU of the driver itself. A plan keeps what this results in for one statement and
one shape of its parameters: the SQL text, the order and codecs of the parameters, and the codecs of
the columns. The rows are SQLAlchemy's own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import ExecuteStyle
from sqlalchemy.sql.compiler import SQLCompiler

Codec = Callable[[Any], Any]
# Most plans of one statement, which has another for each length of a list.
MAX_SHAPES: Final = 32
# Longer lists have no plan: one is as long as its list, and saves little of the work on it.
MAX_LIST: Final = 64
# Of a compiled statement: what is computed at each execution.
_MADE_ANEW: Final = (
    "insert_prefetch",
    "update_prefetch",
    "literal_execute_params",
    "schema_translate_map",
    "has_out_parameters",
)


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a parameter comes from: the caller's value of a name, encoded, or a constant."""

    name: str
    key: str | None
    codec: Codec | None
    constant: Any = None


@dataclass(frozen=True, slots=True)
class DriverPlan:
    """What the driver needs to execute a statement."""

    sql: str
    bound: tuple[Bound, ...]
    is_positional: bool
    metadata: Any
    # Makes a row from the driver's; None if the statement returns none.
    row: Codec | None
    # The table that the statement changes.
    changes: str | None

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """The parameters in the form of the driver."""
        given = [
            it.constant
            if it.key is None
            else values[it.key]
            if it.codec is None
            else it.codec(values[it.key])
            for it in self.bound
        ]
        if self.is_positional:
            return tuple(given)
        return {it.name: value for it, value in zip(self.bound, given, strict=True)}


@dataclass(slots=True)
class StatementPlans:
    """The plans of a statement by the shape of its parameters; None where it has no plan.

    The shape consists of their names, the lengths of lists for `IN`, and whether there are many sets.
    """

    by_shape: dict[tuple[object, ...], DriverPlan | None] = field(default_factory=dict)
    # By names, the parameters that are lists for `IN`.
    lists: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def shape(self, values: Mapping[str, Any], *, many: bool) -> tuple[object, ...]:
        """The shape of some parameters."""
        names = tuple(values)
        lists = self.lists.get(names)
        if lists:
            return (*names, many, *(_length(values[name]) for name in lists))
        return (*names, many) if many else names

    def learn(self, result: sa.CursorResult[Any], sets: Sequence[Mapping[str, Any]]) -> None:
        """Plan further executions like the one that gave this result."""
        if len(self.by_shape) < MAX_SHAPES:
            values, many = sets[0], len(sets) > 1
            compiled: Any = result.context.compiled
            lists = {it.key for it in getattr(compiled, "post_compile_params", ())}
            self.lists[tuple(values)] = tuple(name for name in values if name in lists)
            shape = self.shape(values, many=many)
            if None not in shape:
                self.by_shape[shape] = _plan(result, sets)


# Of an engine; a statement that is built for one execution is forgotten with it.
Plans = WeakKeyDictionary[Any, StatementPlans]


class DriverRows:
    """The result of a plan: of SQLAlchemy's `CursorResult`, what the stores ask of one."""

    __slots__ = ("_cursor", "_fail", "_plan", "rowcount")

    def __init__(self, cursor: Any, plan: DriverPlan, fail: Callable[..., NoReturn]) -> None:
        self.rowcount: int = cursor.rowcount
        self._plan = plan
        self._cursor = cursor
        # Raises SQLAlchemy's error for one of the driver.
        self._fail = fail
        if plan.row is None:
            cursor.close()

    def _decoder(self) -> Codec:
        if self._plan.row is None:
            raise sa.exc.ResourceClosedError("the statement returns no rows")
        return self._plan.row

    def _fetched(self, fetch: Callable[[], Any]) -> Any:
        try:
            found = fetch()
            self._cursor.close()
        except BaseException as problem:  # noqa: BLE001 - as SQLAlchemy; this raises
            self._fail(problem, self._plan.sql, None, self._cursor, None)
        return found

    def all(self) -> list[Any]:
        """All rows."""
        return list(map(self._decoder(), self._fetched(self._cursor.fetchall)))

    def first(self) -> Any:
        """The first row, if there is one."""
        decoder, found = self._decoder(), self._fetched(self._cursor.fetchone)
        return None if found is None else decoder(found)

    def scalar(self) -> Any:
        """The first column of the first row, if there is one."""
        row = self.first()
        return None if row is None else row[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.all())

    def __getattr__(self, name: str) -> Any:
        """Everything else as SQLAlchemy does it."""
        self._decoder()
        rows = iter(self._fetched(self._cursor.fetchall))
        return getattr(sa.IteratorResult(self._plan.metadata, rows), name)


def _plan(result: sa.CursorResult[Any], sets: Sequence[Mapping[str, Any]]) -> DriverPlan | None:
    """The plan of a statement that was executed; None if its text or values are made anew."""
    context: Any = result.context
    compiled = context.compiled
    if not isinstance(compiled, SQLCompiler) or any(getattr(compiled, it) for it in _MADE_ANEW):
        return None
    if context.execute_style is ExecuteStyle.INSERTMANYVALUES:
        return None
    bound = _bound(compiled, context, sets[0])
    if bound is None:
        return None
    metadata: Any = result._metadata  # noqa: SLF001 - it outlives the result
    # The columns of `SELECT *` are those that the table has at the time.
    if isinstance(compiled.statement, sa.TextClause) and "*" in context.statement:
        return None
    row = None
    # On PostgreSQL, an insert returns generated keys that nobody asked for.
    if metadata.returns_rows and not context._is_implicit_returning:  # noqa: SLF001
        codecs, places = metadata._effective_processors, metadata._key_to_index  # noqa: SLF001
        row = partial(sa.Row, metadata, codecs, places)
    changed: Any = compiled.statement if isinstance(compiled.statement, sa.UpdateBase) else None
    plan = DriverPlan(
        sql=context.statement,
        bound=bound,
        is_positional=compiled.positional,
        metadata=metadata,
        row=row,
        changes=None if changed is None else changed.table.name,
    )
    # SQLAlchemy has just sent the same, or the plan is wrong.
    is_right = [plan.parameters(values) for values in sets] == list(context.parameters)
    return plan if is_right else None


def _bound(
    compiled: SQLCompiler, context: Any, values: Mapping[str, Any]
) -> tuple[Bound, ...] | None:
    """The parameters in their order; None if one is computed at each execution."""
    sent = context.compiled_parameters[0]
    codecs: Mapping[str, Any] = compiled._bind_processors  # noqa: SLF001
    # Of lists, the names of their members.
    members: Mapping[str, Sequence[str]] = context._expanded_parameters  # noqa: SLF001
    found: dict[str, list[Bound]] = {}
    for parameter, name in compiled.bind_names.items():
        # A list of tuples has as many codecs as they have members.
        if parameter.callable is not None or isinstance(parameter.type, sa.types.TupleType):
            return None
        key = next((it for it in (parameter.key, name) if it in values), None)
        codec = codecs.get(name)
        parts: list[tuple[str, Codec | None]]
        if name in members:
            each = enumerate(members[name])
            parts = [(it, partial(_member, number, codec)) for number, it in each]
        else:
            parts = [(compiled.escaped_bind_names.get(name, name), codec)]
        found[name] = [
            Bound(it, key, encode)
            if key is not None
            else Bound(it, None, None, codec(sent[it]) if codec else sent[it])
            for it, encode in parts
        ]
    names = compiled.positiontup if compiled.positional else found
    return tuple(part for name in names or () for part in found[name])


def _length(values: object) -> int | None:
    """The length of a list; None where there is no plan for it, as for a set."""
    if isinstance(values, list | tuple) and len(values) <= MAX_LIST:
        return len(values)
    return None


def _member(number: int, codec: Codec | None, values: Sequence[Any]) -> Any:
    return values[number] if codec is None else codec(values[number])
