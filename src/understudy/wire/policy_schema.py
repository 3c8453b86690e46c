"""The schema of a policy as it is sent: as it is, or wrapped beside the revision it follows.

Policies are read by hand, because whatever is wrong with one has one code. What no body may hold,
such as a number beyond 64 bits, is refused before, as everywhere.
"""

from typing import Final

from understudy.wire.base import JsonObject

_EXPECTED: Final[JsonObject] = {"expected_revision": {"type": "integer"}}


def closed(properties: JsonObject, **more: object) -> JsonObject:
    """The schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        **more,
        "additionalProperties": False,
    }


def policy_schema(title: str, fields: JsonObject) -> JsonObject:
    """Both shapes in which a policy with these fields may come."""
    policy = closed(fields, minProperties=1)
    return {
        "title": title,
        "anyOf": [
            closed({"policy": policy, **_EXPECTED}, required=["policy"]),
            closed({**fields, **_EXPECTED}, minProperties=1),
        ],
    }
