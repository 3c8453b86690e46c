"""A policy as it is sent: whole, or wrapped beside the revision that it is meant to follow."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from understudy.api.located import located
from understudy.core.errors import Invalid
from understudy.core.pointer import pointer

EXPECTED: Final = "expected_revision"
# More than any policy has; what is beyond is not worth naming one by one.
MAX_FIELDS: Final = 50
MAX_NAME_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """The fields of a policy, and where in the body they stood."""

    given: Mapping[str, Any]
    expected_revision: int | None = None
    path: tuple[str, ...] = ()

    def located(self) -> AbstractContextManager[None]:
        """Let errors about a field point to where it stood in the body."""
        return located(*self.path)


@dataclass(frozen=True, slots=True)
class PolicyBodies:
    """Reads the bodies of one kind of policy; whatever is wrong with one has one code."""

    code: str

    def change(self, body: object) -> PolicyChange:
        """What a caller sent, in either shape; `Invalid` where it is neither."""
        if not isinstance(body, dict):
            raise self._refused("", "must be an object that holds a policy")
        if "policy" in body:
            return self._wrapped(body)
        given = {name: value for name, value in body.items() if name != EXPECTED}
        return self._change(given, body, path=())

    def proposal(self, given: Mapping[str, Any]) -> PolicyChange:
        """A policy that is only tried, from a body that has it under `policy`."""
        return self._change(given, {}, path=("policy",))

    def _wrapped(self, body: Mapping[str, Any]) -> PolicyChange:
        given = body["policy"]
        beside = sorted(name for name in body if name not in ("policy", EXPECTED))
        if beside:
            raise self._refused(pointer(beside[:1]), "no such field beside policy")
        if not isinstance(given, dict):
            raise self._refused("/policy", "must be an object")
        return self._change(given, body, path=("policy",))

    def _change(
        self, given: Mapping[str, Any], body: Mapping[str, Any], *, path: tuple[str, ...]
    ) -> PolicyChange:
        if not given:
            raise self._refused(pointer(path), "names no field of a policy")
        if len(given) > MAX_FIELDS or any(len(name) > MAX_NAME_CHARS for name in given):
            raise self._refused(pointer(path), "has fields that no policy has")
        return PolicyChange(given=given, expected_revision=self._expected(body), path=path)

    def _expected(self, body: Mapping[str, Any]) -> int | None:
        expected = body.get(EXPECTED)
        if expected is not None and (type(expected) is not int or abs(expected) >= 2**31):
            raise self._refused(f"/{EXPECTED}", "must be the number of a revision")
        return expected

    def _refused(self, where: str, detail: str) -> Invalid:
        named = where.removeprefix("/") or "the body"
        return Invalid(self.code, domain="runtime", pointer=where, detail=f"{named}: {detail}")


RUN_MEMORY: Final = PolicyBodies("invalid_run_memory_policy")
LEARNING: Final = PolicyBodies("invalid_learning_policy")
