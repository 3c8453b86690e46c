"""People who use skills over HTTP, each with a token of their own."""

import io
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from tests.support.skill_service_harness import OK_MD, SLUG
from understudy.daemon.wiring import Daemon
from understudy.storage.schema import metadata

CLEARED = ("skill", "audit", "responses")
ALL = "/v1/skills"
ONE = f"{ALL}/{SLUG}"


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """A ZIP archive of these files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


@dataclass
class Person:
    """Somebody who calls with their own token, or with none."""

    client: TestClient | httpx2.Client
    headers: Mapping[str, str]

    def call(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        headers = {**self.headers, **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return self.client.request(method, path, headers=headers, **options)

    def ok(self, method: str, path: str, body: object = None, **options: Any) -> Any:
        answer = self.call(method, path, body, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def refused(
        self, method: str, path: str, body: object = None, **options: Any
    ) -> tuple[int, str]:
        answer = self.call(method, path, body, **options)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        return answer.status_code, answer.json()["code"]

    def create(self, content: str = OK_MD, **more: Any) -> Any:
        return self.ok("POST", ALL, {"content": content, **more})

    def upload(self, archive: bytes, headers: Mapping[str, str] | None = None, **more: str) -> Any:
        return self.call(
            "POST",
            f"{ALL}/upload",
            files={"file": ("skill.zip", archive, "application/zip")},
            data=more,
            headers=headers or {},
        )

    def audit(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ok("GET", "/v1/audit?resource=skills")["items"]
        return found


@dataclass
class SkillUsers:
    """Everybody there is: two operators, a viewer, an admin, and somebody without a token."""

    ann: Person
    bob: Person
    vera: Person
    root: Person
    nobody: Person
    daemon: Daemon
    app: ASGIApp

    @property
    def store(self) -> Path:
        """Where bundles lie."""
        return self.daemon.settings.home / "skills-store"

    def clear(self) -> None:
        """Take every skill away, and what was written down of it."""
        # As a unit, so that cached reads of these tables are dropped as well.
        with self.daemon.resources.units.write() as unit:
            for table in reversed(metadata.sorted_tables):
                if table.name.startswith(CLEARED):
                    unit.connection.execute(table.delete())
        shutil.rmtree(self.store, ignore_errors=True)


def desk_over(client: TestClient, daemon: Daemon, admin_token: str) -> SkillUsers:
    """Give everybody a token."""
    root = Person(client, bearer(admin_token))

    def person(user_id: str, role: str) -> Person:
        made = root.ok("POST", "/v1/tokens", {"user_id": user_id, "role": role})
        return Person(client, bearer(made["token"]))

    return SkillUsers(
        ann=person("ann", "operator"),
        bob=person("bob", "operator"),
        vera=person("vera", "viewer"),
        root=root,
        nobody=Person(client, {}),
        daemon=daemon,
        app=client.app,
    )


def bearer(token: str) -> dict[str, str]:
    """The header of somebody with this token."""
    return {"Authorization": f"Bearer {token}"}
