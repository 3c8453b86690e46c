"""The OpenAPI document: complete, stable, committed."""

import json
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator, meta
from schemathesis.specs.openapi.definitions import OPENAPI_31
from starlette.testclient import TestClient

from tests.support.openapi import committed_document
from understudy.api.app import openapi_document
from understudy.core.records import OMITTED_MARK


@cache
def made_document() -> Any:
    """The document as JSON; making it takes a second."""
    return json.loads(json.dumps(openapi_document()))


def test_the_daemon_serves_the_document_that_needs_no_daemon(api: TestClient) -> None:
    served = api.get("/openapi.json").json()
    assert served == made_document()
    assert served["openapi"].startswith("3.1")


def test_the_committed_document_is_current() -> None:
    assert committed_document() == made_document(), "run: scripts/reference"


def test_it_is_valid_as_the_version_of_openapi_that_it_names() -> None:
    document = made_document()
    assert document["openapi"].startswith("3.1.")
    told = [error.message for error in Draft202012Validator(OPENAPI_31).iter_errors(document)]
    assert told == []
    for schema in document["components"]["schemas"].values():
        meta.validate(schema)


def test_no_schema_tells_how_it_was_made() -> None:
    assert OMITTED_MARK not in json.dumps(made_document())


def test_operation_ids_are_unique_names() -> None:
    paths = made_document()["paths"]
    ids = [each["operationId"] for path in paths.values() for each in path.values()]
    assert len(ids) == len(set(ids))
    assert all(len(name.split(".")) == 2 for name in ids)


def test_every_operation_says_what_a_refusal_looks_like() -> None:
    for path in made_document()["paths"].values():
        for operation in path.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert "422" not in operation["responses"]


def test_no_interactive_documentation_is_loaded_from_elsewhere(api: TestClient) -> None:
    assert api.get("/docs").status_code == api.get("/redoc").status_code == 404
