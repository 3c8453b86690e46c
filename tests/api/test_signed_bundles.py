"""Exported skills carry a signature, and uploads tell by whom."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import idle_daemon
from tests.api.skill_users import packed
from understudy.api.app import create_app

MD = "---\nname: Weekly report\ndescription: Writes it.\n---\nCollect, then write.\n"
FILES = {"SKILL.md": MD, "scripts/run.sh": "#!/bin/sh\necho report\n"}
SIGNATURE = "SIGNATURE.json"


@pytest.fixture
def here(tmp_path: Path, fresh_database: Path) -> Iterator[TestClient]:
    yield from _daemon(tmp_path / "here", fresh_database)


@pytest.fixture
def there(tmp_path: Path, fresh_database: Path) -> Iterator[TestClient]:
    yield from _daemon(tmp_path / "there", fresh_database)


def _daemon(home: Path, database: Path) -> Iterator[TestClient]:
    daemon = idle_daemon(home, database)
    with TestClient(create_app(daemon.services), base_url="http://127.0.0.1:4600") as client:
        yield client
    daemon.resources.database.dispose()


def upload(client: TestClient, archive: bytes) -> Any:
    return client.post("/v1/skills/upload", files={"file": ("a.zip", archive, "application/zip")})


def exported(client: TestClient, *, name: str | None = "Ann") -> bytes:
    if name is not None:
        client.post("/v1/keys", json={"name": name}).raise_for_status()
    slug = upload(client, packed(FILES)).json()["slug"]
    return bytes(client.get(f"/v1/skills/{slug}/export").content)


def files_of(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def trust(client: TestClient, other: TestClient, name: str = "Ann of Oslo") -> str:
    [key] = other.get("/v1/keys").json()["items"]
    body = {"name": name, "public_key": key["public_key"]}
    client.post("/v1/keys/trust", json=body).raise_for_status()
    return str(key["key_id"])


def signed_uploads(client: TestClient) -> None:
    client.post("/v1/runtime", json={"require_signed_uploads": True}).raise_for_status()


def test_an_upload_tells_who_signed_it_and_keeps_no_signature_file(
    here: TestClient, there: TestClient
) -> None:
    archive = exported(here)
    key_id = trust(there, here)

    kept = upload(there, archive).json()

    by = {"key_id": key_id, "signer": "Ann of Oslo", "is_trusted": True}
    assert kept["signature"] == by
    [version] = there.get(f"/v1/skills/{kept['slug']}/versions").json()["items"]
    assert version["signature"] == by
    stored = there.get(f"/v1/skills/{kept['slug']}/files").json()["items"]
    assert [each["path"] for each in stored] == ["SKILL.md", "scripts/run.sh"]
    [entry] = there.get("/v1/audit?resource=skills").json()["items"]
    assert f"signed by Ann of Oslo ({key_id})" in entry["reason"]
    assert there.get("/v1/audit/verify").json()["ok"]


def test_an_unknown_signer_is_marked_as_such(here: TestClient, there: TestClient) -> None:
    kept = upload(there, exported(here, name="Root of all")).json()

    assert kept["signature"]["signer"] == "Root of all"
    assert not kept["signature"]["is_trusted"]


def test_without_a_key_nothing_is_signed(here: TestClient, there: TestClient) -> None:
    archive = exported(here, name=None)

    assert not any(SIGNATURE in name for name in files_of(archive))
    assert "signature" not in upload(there, archive).json()


def test_the_same_version_is_exported_as_the_same_bytes(here: TestClient) -> None:
    first = exported(here)

    assert here.get("/v1/skills/weekly-report/export").content == first


def _with(edit: Callable[[dict[str, str]], object]) -> Callable[[str, bytes], bytes]:
    def change(name: str, data: bytes) -> bytes:
        if not name.endswith(SIGNATURE):
            return data
        said = json.loads(data)
        edit(said)
        return json.dumps(said).encode()

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda name, data: data + b" " if name.endswith(".sh") else data, "changed after"),
        (lambda name, data: data + b"More." if name.endswith(".md") else data, "changed after"),
        (_with(lambda said: said.update(signer="Root")), "not made with the key"),
        (_with(lambda said: said.update(slug="other")), "not made with the key"),
        (_with(lambda said: said.update(key_id="key_0")), "not made with the key"),
        (_with(lambda said: said.update(public_key="x")), "not made with the key"),
        (_with(lambda said: said.update(signature="AAAA")), "not made with the key"),
        (_with(lambda said: said.pop("signature")), "fields of a signature"),
        (_with(lambda said: said.update(more="x")), "fields of a signature"),
    ],
)
def test_what_is_not_as_it_was_signed_is_refused(
    here: TestClient, there: TestClient, change: Callable[[str, bytes], bytes], says: str
) -> None:
    files = files_of(exported(here))
    changed = packed({name: change(name, data) for name, data in files.items()})

    answer = upload(there, changed)

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_signature")
    assert says in answer.json()["detail"]
    assert there.get("/v1/skills?origin=managed").json()["items"] == []


def test_a_signature_does_not_cover_a_file_that_was_added(
    here: TestClient, there: TestClient
) -> None:
    files = files_of(exported(here))

    answer = upload(there, packed({**files, "weekly-report/extra.md": b"Do more."}))

    assert answer.json()["code"] == "bad_signature"


def test_a_signature_is_for_the_skill_that_it_names(here: TestClient, there: TestClient) -> None:
    archive = exported(here)

    file = {"file": ("a.zip", archive, "application/zip")}
    answer = there.post("/v1/skills/upload", files=file, data={"slug": "deploy"})

    assert (answer.status_code, answer.json()["code"]) == (400, "bad_signature")
    assert "'weekly-report'" in answer.json()["detail"].replace('"', "'")
    assert "'deploy'" in answer.json()["detail"].replace('"', "'")
    named = there.post("/v1/skills/upload", files=file, data={"slug": "weekly-report"})
    assert named.json()["signature"]["signer"] == "Ann"


def test_a_file_of_somebody_else_under_that_name_is_a_file(there: TestClient) -> None:
    kept = upload(there, packed({**FILES, SIGNATURE: '{"format": "theirs"}'})).json()

    assert "signature" not in kept
    stored = there.get(f"/v1/skills/{kept['slug']}/files").json()["items"]
    assert SIGNATURE in [each["path"] for each in stored]


def test_a_file_under_that_name_does_not_keep_an_export_from_being_signed(
    here: TestClient, there: TestClient
) -> None:
    exported(here)
    theirs = upload(here, packed({**FILES, SIGNATURE: '{"format": "theirs"}'})).json()
    key_id = trust(there, here)

    archive = here.get(f"/v1/skills/{theirs['slug']}/export").content

    assert upload(there, archive).json()["signature"]["key_id"] == key_id


def test_a_policy_can_ask_for_the_signature_of_a_known_key(
    here: TestClient, there: TestClient
) -> None:
    archive = exported(here)
    signed_uploads(there)

    unsigned, unknown = upload(there, packed(FILES)), upload(there, archive)
    trust(there, here)
    known = upload(there, archive)

    for refused, says in ((unsigned, "has none"), (unknown, "keys trust")):
        assert (refused.status_code, refused.json()["code"]) == (403, "signature_required")
        assert says in refused.json()["detail"]
    assert known.status_code == 201
    assert there.get("/v1/runtime").json()["require_signed_uploads"] is True


def test_keys_are_admins_business_and_listed_without_their_private_part(
    guarded: TestClient,
) -> None:
    admin = {"Authorization": "Bearer admin-secret"}
    body = {"user_id": "ann", "role": "operator"}
    token = guarded.post("/v1/tokens", json=body, headers=admin).json()["token"]
    ann = {"Authorization": f"Bearer {token}"}

    made = guarded.post("/v1/keys", json={"name": "Ours"}, headers=admin).json()

    assert guarded.post("/v1/keys", json={"name": "Mine"}, headers=ann).status_code == 403
    path = f"/v1/keys/{made['key_id']}"
    assert guarded.delete(path, headers=ann).status_code == 403
    shown = guarded.get(path, headers=ann)
    assert shown.json() == made
    assert made["public_key"].startswith("-----BEGIN PUBLIC KEY-----")
    assert "PRIVATE" not in shown.text
    assert guarded.delete(path, headers=admin).json() == {"deleted": True}
    assert guarded.get(path, headers=admin).json()["code"] == "key_not_found"
