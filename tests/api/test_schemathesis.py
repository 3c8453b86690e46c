"""The whole OpenAPI document, called in each role with what a machine makes of it.

`UNDERSTUDY_TEST_EXAMPLES` says how many calls to make of each kind, instead of a few.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from tests.api.conftest import ADMIN
from tests.api.furniture import furniture
from tests.api.skill_users import Person, SkillUsers, bearer
from tests.support.daemon import DaemonProcess
from tests.support.openapi import committed_document
from understudy.core.principal import Role
from understudy.storage.schema import metadata

EXAMPLES = int(os.environ.get("UNDERSTUDY_TEST_EXAMPLES", "2"))
# Each call has its own token; what is bad about it is to be something else.
CONFIG = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
SCHEMA = schemathesis.openapi.from_dict(committed_document(), config=CONFIG)
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations() if isinstance(result, Ok)]
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
]
LIMITED = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# Some streams end only when their reader has heard enough.
STREAM_S, ANSWER_S = 0.3, 30.0
LOG_CHARS = 4000


@dataclass(frozen=True)
class Caller:
    """Somebody of a role, where they call, and what is there that a path can name."""

    role: Role
    headers: Mapping[str, str]
    transport: Mapping[str, Any]
    known: Mapping[str, str]
    log: Callable[[], str] = str

    def call(self, case: Case, *, seconds: float) -> int:
        """The status of an answer that keeps to the document."""
        answer = case.call(timeout=seconds, headers=dict(self.headers), **self.transport)
        try:
            case.validate_response(answer, checks=CHECKS, headers=dict(self.headers))
        except FailureGroup as found:
            said = self.log()[-LOG_CHARS:]
            raise AssertionError(f"called as {self.role}: {found}\n{said}") from None
        return answer.status_code


@dataclass(frozen=True)
class Staff:
    """An operator and an admin at a real daemon, which works on the runs that it is given."""

    root: Person
    headers: Mapping[Role, Mapping[str, str]]
    transport: Mapping[str, Any]
    log: Callable[[], str]

    def callers(self, path: str) -> Iterator[Caller]:
        """Both, with something of their own to call for."""
        for role, headers in self.headers.items():
            yield Caller(role, headers, self.transport, furniture(self.root, path), self.log)


@pytest.fixture(scope="module")
def staff(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Staff]:
    home = tmp_path_factory.mktemp("schema") / "home"
    with (
        DaemonProcess(home, env={"UNDERSTUDY_ADMIN_TOKEN": ADMIN}) as daemon,
        daemon.client() as client,
        requests.Session() as session,
    ):
        root = Person(client, bearer(ADMIN))
        made = root.ok("POST", "/v1/tokens", {"user_id": "ann", "role": "operator"})
        yield Staff(
            root=root,
            headers={Role.OPERATOR: bearer(made["token"]), Role.ADMIN: root.headers},
            transport={"base_url": daemon.url, "session": session},
            log=daemon.log,
        )


def test_every_operation_of_the_document_can_be_read() -> None:
    paths = SCHEMA.raw_schema["paths"].values()
    assert len(OPERATIONS) == sum(len(path) for path in paths)


@pytest.mark.e2e
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_operation_keeps_to_the_document_and_a_viewer_changes_nothing(
    staff: Staff, furnished: SkillUsers, operation: APIOperation
) -> None:
    viewer = _viewer(furnished, operation.path)
    before = _stored(furnished)
    _fuzz(operation, [viewer, *staff.callers(operation.path)])
    assert _stored(furnished) == before


def _viewer(users: SkillUsers, path: str) -> Caller:
    """A viewer, at a daemon that does nothing of its own accord and whose streams end at once."""
    users.daemon.resources.shutting_down.set()
    known = furniture(users.root, path, without={"run_id", "flow_id"})
    return Caller(Role.VIEWER, users.vera.headers, {"app": users.app}, known)


def _fuzz(operation: APIOperation, callers: Sequence[Caller]) -> None:
    """Call an operation with good and with bad input, half of the time about what is there."""
    needed = Role(operation.definition.raw.get("x-role", Role.VIEWER))
    seconds = STREAM_S if operation.path.endswith("/stream") else ANSWER_S

    for mode in GenerationMode:
        if mode is GenerationMode.NEGATIVE and not _can_be_wrong(operation):
            continue

        @LIMITED
        @given(
            case=operation.as_strategy(generation_mode=mode),
            is_known=st.sampled_from([True, False]),
        )
        def call(case: Case, is_known: bool) -> None:
            made_up = dict(case.path_parameters)
            for caller in callers:
                case.path_parameters = {**made_up, **(caller.known if is_known else {})}
                status = caller.call(case, seconds=seconds)
                assert status == 403 or caller.role.includes(needed), caller.role

        call()


def _can_be_wrong(operation: APIOperation) -> bool:
    """Whether there is input that the document forbids; in a path, every text is allowed."""
    return any((operation.query, operation.headers, operation.body))


def _stored(users: SkillUsers) -> str:
    """All that is kept but the audit and its chain, in short."""
    whole = hashlib.sha256()
    with users.daemon.resources.database.connect() as connection:
        for table in metadata.sorted_tables:
            if table.name not in {"audit", "chains"}:
                rows = sorted(map(repr, connection.execute(table.select())))
                whole.update(f"{table.name} {rows}".encode())
    for path in sorted(users.store.rglob("*")):
        whole.update(str(path).encode())
    return whole.hexdigest()
