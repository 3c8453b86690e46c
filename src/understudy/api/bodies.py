"""Request bodies: conversion to records, and error pointers into them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.core.errors import Invalid, coded_error
from understudy.core.pointer import MAX_CHARS, pointer
from understudy.core.records import parsed
from understudy.wire.base import RequestBody

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def record_of(kind: type[T], body: RequestBody, **more: Any) -> T:
    """A record from the fields of a body with the same names, and from `more`."""
    names = {field.name for field in fields(kind)} - set(more)
    return parsed(kind, {**body.model_dump(include=names), **more})


def check_same_id(field: str, sent: str | None, addressed: str) -> None:
    """Refuse a body whose id differs from that in the path."""
    if sent is not None and sent != addressed:
        raise coded_error("api/id_mismatch", pointer=f"/{field}", field=field)


@contextmanager
def located(*path: str) -> Iterator[None]:
    """Prefix every pointer of an `Invalid` with a path."""
    try:
        yield
    except Invalid as problem:
        place = pointer(path)
        raise problem.moved(lambda below: (place + below)[:MAX_CHARS]) from None
