"""Policies: documents within the runtime document, read whole and stored in revisions.

A policy is a frozen dataclass whose fields carry their limits; pydantic reads it, and every problem
is located by its JSON pointer.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil, floor
from typing import Any, ClassVar, Final, Generic, TypeVar

import structlog
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_core import core_schema as schemas

from understudy.core.errors import FieldError, Invalid, UnderstudyError, coded_error
from understudy.core.mistakes import TOO_MANY, at_beginning, mistakes_of
from understudy.core.pointer import pointer
from understudy.core.principal import Principal
from understudy.core.records import adapter_of
from understudy.core.text import and_more
from understudy.runtime.service import Revision, RuntimeService

log = structlog.get_logger()

P = TypeVar("P")

# More than anybody reads; further problems are left out.
MAX_PROBLEMS: Final = 50
# Problems spelled out in the message; the list has all of them.
TOLD: Final = 5
TOLD_CHARS: Final = 100
_NOTHING: Final = object()


class _Limit:
    """A limit of requests; the schema of answers does not show it."""

    __slots__ = ()

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The bounds, in the schema of requests only."""
        shown = handler(schema)
        if handler.mode == "serialization":
            for bound in ("minimum", "maximum", "maxLength", "maxItems"):
                shown.pop(bound, None)
        return shown


@dataclass(frozen=True, slots=True)
class Whole(_Limit):
    """Annotates a whole number within bounds."""

    low: int
    high: int

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """An integer, and no boolean."""
        bounds = schemas.int_schema(strict=True, ge=self.low, le=self.high)
        return _told(bounds, f"must be a whole number from {self.low} to {self.high}")


@dataclass(frozen=True, slots=True)
class Number(_Limit):
    """Annotates a number within bounds."""

    low: float
    high: float

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A float, or an integer that stays one."""
        whole = schemas.int_schema(strict=True, ge=ceil(self.low), le=floor(self.high))
        number = schemas.float_schema(strict=True, ge=self.low, le=self.high, allow_inf_nan=False)
        either = schemas.union_schema([whole, number])
        return _told(either, f"must be a number from {self.low} to {self.high}")

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of a number: JSON has one number type."""
        number = schemas.float_schema(ge=self.low, le=self.high)
        return _Limit.__get_pydantic_json_schema__(self, number, handler)


@dataclass(frozen=True, slots=True)
class AtMost(_Limit):
    """Annotates a list with a maximum length."""

    most: int

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The list schema with its limit."""
        items: Any = handler(kind)
        limited: CoreSchema = {**items, "max_length": self.most}
        return limited


@dataclass(frozen=True, slots=True)
class Line(_Limit):
    """Annotates a few words on one line."""

    longest: int
    # Whether surrounding spaces are refused.
    trimmed: bool = False

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A printable text that is not blank."""
        text = schemas.str_schema(strict=True, max_length=self.longest)
        said = _told(text, f"must be a text of at most {self.longest} characters")
        return schemas.no_info_after_validator_function(self._checked, said)

    def _checked(self, text: str) -> str:
        if not text.strip():
            raise PydanticCustomError("wrong_value", "must not be blank")
        if not text.isprintable():
            raise PydanticCustomError("wrong_value", "must be one line of printable characters")
        if self.trimmed and text != text.strip():
            raise PydanticCustomError("wrong_value", "must have no blanks around it")
        return text


@dataclass(frozen=True, slots=True)
class Says:
    """Annotates a type with the message for any invalid value."""

    detail: str

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The type with a single error."""
        return _told(handler(kind), self.detail)


def _told(schema: CoreSchema, detail: str) -> CoreSchema:
    return schemas.custom_error_schema(
        schema, custom_error_type="wrong_value", custom_error_message=detail
    )


def check(problems: Iterable[tuple[str | int, str, str]]) -> None:
    """For validators of a whole record: raise `ValidationError` for each (field, code, detail)."""
    found = [
        InitErrorDetails(type=PydanticCustomError(code, detail, _OURS), loc=(name,), input=None)
        for name, code, detail in problems
    ]
    if found:
        raise ValidationError.from_exception_data("policy", found)


# Marks errors with our own code and message, even where pydantic has the same code.
_OURS: Final[dict[str, Any]] = {"ours": True}
# Code and message for pydantic's own errors.
_MISTAKES: Final[Mapping[str, tuple[str, str]]] = {
    "bool_type": ("wrong_value", "must be true or false"),
    "dataclass_type": ("wrong_value", "must be an object"),
    "missing": ("missing", "is missing"),
    "too_long": ("too_large", "must have at most {max_length} items"),
    "tuple_type": ("wrong_value", "must be a list"),
    "unexpected_keyword_argument": ("unknown_field", "no such field"),
}


def _field_error(error: ErrorDetails) -> FieldError:
    kind, context = error["type"], error.get("ctx", {})
    mistakes = {} if "ours" in context else _MISTAKES
    code, detail = mistakes.get(kind, (kind, error["msg"]))
    if kind == "enum":
        words = re.findall(r"'([^']*)'", context["expected"])
        code, detail = "wrong_value", "must be " + " or ".join(words)
    return FieldError(pointer=pointer(error["loc"]), code=code, detail=detail.format_map(context))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyKind(Generic[P]):
    """A kind of policy: its key in the runtime document, and how it is read."""

    setting: str
    # The error code of an invalid document.
    code: str
    # What a document is validated as: the record, or an annotated one.
    shape: Any
    default: P
    # The policy in force when the stored one is damaged.
    damaged: P

    @property
    def adapter(self) -> TypeAdapter[P]:
        """Validates and serialises documents."""
        return adapter_of(self.shape)

    def read(self, given: Any) -> P:
        """Parse a policy; missing fields take their default; raises `Invalid`."""
        read = partial(self.adapter.validate_python, extra="forbid")
        try:
            return read(given)
        except ValidationError as problem:
            found = mistakes_of(problem) or at_beginning(read, given)
            errors = [_field_error(error) for error in found[:MAX_PROBLEMS]]
            count = problem.error_count()
        too_many = FieldError(pointer="", code=TOO_MANY, detail=f"{count} values are wrong")
        raise self.refused(errors or [too_many])

    def refused(self, problems: list[FieldError]) -> UnderstudyError:
        """The error of an invalid policy."""
        told = [f"{it.pointer[1:TOLD_CHARS] or 'policy'}: {it.detail}" for it in problems[:TOLD]]
        detail = "; ".join(and_more(told, len(problems) - TOLD))
        return coded_error(
            f"runtime/{self.code}", errors=tuple(problems[:MAX_PROBLEMS]), detail=detail
        )

    def stored(self, document: Mapping[str, Any]) -> P:
        """The policy of a runtime document; the default where it sets none; `Invalid` if damaged."""
        return self.read(document[self.setting]) if self.setting in document else self.default

    def usable(self, document: Mapping[str, Any]) -> P:
        """The policy of a runtime document, also where it is damaged."""
        try:
            return self.stored(document)
        except Invalid as problem:
            places = [error.pointer for error in problem.errors]
        log.error("policy.damaged", setting=self.setting, places=places[:5])
        return self.damaged

    def to_json(self, policy: P) -> dict[str, Any]:
        """The whole policy as it is stored and shown, defaults included."""
        shown: dict[str, Any] = self.adapter.dump_python(policy, mode="json")
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedPolicy(Generic[P]):
    """Use cases of a policy: read, change, list revisions, roll back. Services inherit them."""

    runtime: RuntimeService
    kind: ClassVar[PolicyKind[Any]]

    def policy(self) -> tuple[P, Revision]:
        """The policy in force, and its revision."""
        revision = self.runtime.current()
        return self.kind.usable(revision.document), revision

    def read(self, given: Mapping[str, Any]) -> P:
        """Parse a policy, or raise `Invalid`."""
        if not given:
            raise coded_error(f"runtime/{self.kind.code}", detail="name at least one field")
        policy: P = self.kind.read(given)
        return policy

    def set_policy(
        self,
        principal: Principal,
        given: Mapping[str, Any],
        *,
        expected_revision: int | None = None,
    ) -> tuple[P, Revision]:
        """Put a policy in force; an unchanged one makes no revision."""
        policy = self.read(given)
        changes = {self.kind.setting: self.kind.to_json(policy)}
        revision = self.runtime.change(principal, changes, expected_revision=expected_revision)
        return policy, revision

    def roll_back_policy(
        self,
        principal: Principal,
        target_revision: int | None = None,
        *,
        expected_revision: int | None = None,
    ) -> tuple[P, Revision]:
        """Restore the policy of an earlier revision, without changing other settings."""
        revision = self.runtime.roll_back(
            principal, target_revision, expected_revision=expected_revision, only=self.kind.setting
        )
        return self.kind.stored(revision.document), revision

    def policy_revisions(self) -> tuple[tuple[P, Revision], ...]:
        """The policy after each stored change of it, newest first."""
        kept, setting = self.runtime.revisions(), self.kind.setting
        # The oldest stored revision has no predecessor; `_NOTHING` equals no document.
        earlier = (*(revision.document.get(setting) for revision in kept[1:]), _NOTHING)
        return tuple(
            (self.kind.usable(revision.document), revision)
            for revision, before in zip(kept, earlier, strict=True)
            if revision.document.get(setting) != before
        )
