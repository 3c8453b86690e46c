"""What request bodies say of their fields."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import understudy.wire
from understudy.learnings.model import Kind
from understudy.wire.base import RequestBody, Update
from understudy.wire.learnings import CreateCandidate, CreateLearning, SupersedeLearning


def bodies(base: type[RequestBody] = RequestBody) -> Iterator[type[RequestBody]]:
    """Every request body of the package, but for those of OpenAI's protocol, which describes them."""
    for module in iter_modules(understudy.wire.__path__):
        import_module(f"understudy.wire.{module.name}")
    for body in base.__subclasses__():
        if body.__module__ == "understudy.wire.openai":
            continue
        yield body
        yield from bodies(body)


def test_every_field_of_a_request_body_has_a_description() -> None:
    bare = [
        f"{body.__name__}.{name}"
        for body in bodies()
        for name, field in body.model_fields.items()
        if not field.description
    ]
    assert bare == []


def test_fields_that_only_the_daemon_sets_are_marked_read_only() -> None:
    for body in bodies(Update):
        fields = body.model_json_schema()["properties"]
        assert all(fields[name]["readOnly"] for name in Update.model_fields)


def test_a_body_offers_no_kind_that_a_caller_may_not_propose() -> None:
    for body in (CreateCandidate, CreateLearning, SupersedeLearning):
        assert Kind.RUN_SUMMARY not in str(body.model_json_schema()["properties"]["kind"])
