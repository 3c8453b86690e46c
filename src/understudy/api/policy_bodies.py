"""A policy as it is sent: whole, or wrapped beside the revision that it is meant to follow."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from understudy.api.problems import pointer
from understudy.core.errors import FieldError, Invalid

CODE: Final = "invalid_run_memory_policy"
EXPECTED: Final = "expected_revision"
# More than any policy has; what is beyond is not worth naming one by one.
MAX_FIELDS: Final = 50
MAX_NAME_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """The fields of a policy, and where in the body they stood."""

    given: Mapping[str, Any]
    expected_revision: int | None
    path: tuple[str, ...] = ()

    @contextmanager
    def located(self) -> Iterator[None]:
        """Let errors about a field point to where it stood in the body."""
        try:
            yield
        except Invalid as problem:
            errors = tuple(self._located(error) for error in problem.errors)
            raise Invalid(
                problem.code, domain=problem.domain, detail=problem.detail, errors=errors
            ) from None

    def _located(self, error: FieldError) -> FieldError:
        return replace(error, pointer=pointer((*self.path, error.pointer.removeprefix("/"))))


def policy_change(body: object) -> PolicyChange:
    """What a caller sent, in either shape; `Invalid` where it is neither."""
    if not isinstance(body, dict):
        raise _refused("", "must be an object that holds a policy")
    if "policy" in body:
        return _wrapped(body)
    given = {name: value for name, value in body.items() if name != EXPECTED}
    return _change(given, body, path=())


def _wrapped(body: Mapping[str, Any]) -> PolicyChange:
    given = body["policy"]
    beside = sorted(name for name in body if name not in ("policy", EXPECTED))
    if beside:
        raise _refused(pointer(beside[:1]), "no such field beside policy")
    if not isinstance(given, dict):
        raise _refused("/policy", "must be an object")
    return _change(given, body, path=("policy",))


def _change(
    given: Mapping[str, Any], body: Mapping[str, Any], *, path: tuple[str, ...]
) -> PolicyChange:
    if not given:
        raise _refused(pointer(path), "names no field of a policy")
    if len(given) > MAX_FIELDS or any(len(name) > MAX_NAME_CHARS for name in given):
        raise _refused(pointer(path), "has fields that no policy has")
    return PolicyChange(given=given, expected_revision=_expected(body), path=path)


def _expected(body: Mapping[str, Any]) -> int | None:
    expected = body.get(EXPECTED)
    if expected is not None and (type(expected) is not int or abs(expected) >= 2**31):
        raise _refused(f"/{EXPECTED}", "must be the number of a revision")
    return expected


def _refused(where: str, detail: str) -> Invalid:
    named = where.removeprefix("/") or "the body"
    return Invalid(CODE, domain="runtime", pointer=where, detail=f"{named}: {detail}")
