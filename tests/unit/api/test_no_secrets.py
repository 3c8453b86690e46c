"""No answer of the API has a field for a hash or a secret."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.support.openapi import committed_document

HIDDEN: Final = re.compile(r".*_hash|.*secret.*")
# Fields that are named like one, with the reason why an answer may show them.
ALLOWED: Final[Mapping[str, str]] = {
    "secrets": "how many the lab took out of a pasted text",
    "secret": "the signing secret of webhooks, shown once to the admin who rotates it",
}


def answer_fields(document: Any) -> Iterator[str]:
    """The name of every property in the schema of an answer."""
    schemas = document["components"]["schemas"]
    seen: set[str] = set()
    waiting = [
        operation["responses"]
        for path in document["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
    ]
    while waiting:
        match waiting.pop():
            case {"$ref": str(ref)} if (name := ref.rpartition("/")[2]) in schemas:
                if name not in seen:
                    seen.add(name)
                    waiting.append(schemas[name])
            case dict(found):
                yield from found.get("properties", ())
                waiting.extend(found.values())
            case list(found):
                waiting.extend(found)


def test_no_answer_has_a_field_for_a_hash_or_a_secret() -> None:
    found = set(answer_fields(committed_document()))

    assert {"run_id", "token_id", "user_id"} <= found
    assert {name for name in found if HIDDEN.fullmatch(name)} == set(ALLOWED)
