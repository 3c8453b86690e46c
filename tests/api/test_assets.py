"""Assets over HTTP, and files in what starts a run."""

import base64
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.live import Live
from understudy.assets.model import MAX_ASSET_BYTES
from understudy.daemon.wiring import Daemon

PNG = b"\x89PNG\r\n\x1a\n picture"
HTML = b"<script>alert(1)</script>"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def file(data: bytes = PNG, name: str = "cat.png", **more: Any) -> dict[str, Any]:
    return {"file_name": name, "content_base64": encoded(data), **more}


def upload(api: TestClient, data: bytes = PNG, name: str = "cat.png", **more: Any) -> Any:
    answer = api.post("/v1/assets", json=file(data, name, **more))
    assert answer.is_success, answer.text
    return answer.json()


def reason(answer: Any) -> tuple[int, str]:
    return answer.status_code, f"{answer.json()['domain']}/{answer.json()['code']}"


def pointers(answer: Any) -> list[str]:
    return [error["pointer"] for error in answer.json()["errors"]]


# Uploading


def test_an_upload_answers_with_the_asset(api: TestClient) -> None:
    answer = api.post("/v1/assets", json=file(name="/home/me/cat.png"))

    assert answer.status_code == 201
    view = answer.json()
    assert view["asset_id"].startswith("ast_")
    assert (view["file_name"], view["media_type"]) == ("cat.png", "image/png")
    assert (view["size"], view["owner_id"]) == (len(PNG), "local")
    assert api.get(f"/v1/assets/{view['asset_id']}").json() == view
    assert api.get("/v1/assets").json() == {"items": [view], "next_cursor": None}


def test_the_same_file_again_is_answered_with_the_same_asset(api: TestClient) -> None:
    first = upload(api)

    again = api.post("/v1/assets", json=file(name="other.png", media_type="image/png"))

    assert (again.status_code, again.json()) == (200, first)


def test_a_repeat_under_a_key_is_the_same_answer(api: TestClient) -> None:
    headers = {"Idempotency-Key": "k"}
    answers = [api.post("/v1/assets", json=file(), headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"file_name": "x", "content_base64": "?"}, "assets/invalid_base64", "/content_base64"),
        ({"file_name": "x", "content_base64": ""}, "assets/asset_empty", "/content_base64"),
        (file(name="../"), "assets/invalid_file_name", "/file_name"),
        (file(name=""), "api/bad_request", "/file_name"),
        (file(name="x" * 5000), "api/bad_request", "/file_name"),
        (file(media_type="png"), "assets/invalid_media_type", "/media_type"),
        (file(media_type="image/gif"), "assets/media_type_mismatch", "/media_type"),
        (file(b"hello", media_type="image/png"), "assets/media_type_mismatch", "/media_type"),
        (file(b"hello", media_type="application/pdf"), "assets/media_type_mismatch", "/media_type"),
        (file(media_type=7), "api/bad_request", "/media_type"),
        ({"file_name": "x"}, "api/bad_request", "/content_base64"),
        (file(path="/etc/passwd"), "api/bad_request", "/path"),
    ],
)
def test_a_wrong_upload_is_told_what_is_wrong(
    api: TestClient, body: dict[str, Any], code: str, pointer: str
) -> None:
    answer = api.post("/v1/assets", json=body)

    assert reason(answer) == (400, code)
    assert pointers(answer) == [pointer]
    assert api.get("/v1/assets").json()["items"] == []


def test_the_largest_file_fits_and_a_larger_one_is_too_large(api: TestClient) -> None:
    assert upload(api, b"x" * MAX_ASSET_BYTES)["size"] == MAX_ASSET_BYTES

    answer = api.post("/v1/assets", json=file(b"x" * (MAX_ASSET_BYTES + 1)))

    assert reason(answer) == (413, "assets/asset_too_large")


# Reading


def test_raw_bytes_come_as_a_download_that_runs_nothing(api: TestClient) -> None:
    asset_id = upload(api, name='my "cat"\t猫.png')["asset_id"]

    answer = api.get(f"/v1/assets/{asset_id}/raw")

    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''my%20%22cat%22%20%E7%8C%AB.png"
    )


@pytest.mark.parametrize(
    ("data", "media_type", "shown"),
    [
        (HTML, "text/html", "text/plain; charset=utf-8"),
        (b"<svg onload=alert(1) />", "image/svg+xml", "text/plain; charset=utf-8"),
        (b"{}", "application/json", "text/plain; charset=utf-8"),
        (b"%PDF-1.7", "application/pdf", "application/pdf"),
        (b"PK\x03\x04", "application/zip", "application/octet-stream"),
        (b"x", "image/x-icon", "application/octet-stream"),
        (b"\x00\x01", None, "application/octet-stream"),
    ],
)
def test_only_types_that_run_nothing_are_sent_as_they_are(
    api: TestClient, data: bytes, media_type: str | None, shown: str
) -> None:
    asset_id = upload(api, data, "file", media_type=media_type)["asset_id"]

    answer = api.get(f"/v1/assets/{asset_id}/raw")

    assert (answer.content, answer.headers["content-type"]) == (data, shown)


@pytest.mark.parametrize("path", ["", "/raw", "/references"])
def test_an_unknown_asset_is_not_found(api: TestClient, path: str) -> None:
    for asset_id in ("ast_none", "gc", "..%2f..%2fetc%2fpasswd", "%00"):
        answer = api.get(f"/v1/assets/{asset_id}{path}")
        assert answer.status_code in (400, 404), answer.text
    assert reason(api.get(f"/v1/assets/ast_none{path}")) == (404, "assets/asset_not_found")


def test_damaged_bytes_are_a_conflict(api: TestClient, daemon: Daemon) -> None:
    view = upload(api)
    path = daemon.settings.home / "assets" / view["sha256"]
    path.write_bytes(PNG[:-1] + b"!")

    answer = api.get(f"/v1/assets/{view['asset_id']}/raw")

    assert reason(answer) == (409, "assets/asset_integrity_mismatch")
    path.unlink()
    answer = api.get(f"/v1/assets/{view['asset_id']}/raw")
    assert reason(answer) == (409, "assets/asset_integrity_mismatch")


def test_files_that_cannot_be_used_are_unavailable_and_no_internal_error(
    api: TestClient, daemon: Daemon
) -> None:
    (daemon.settings.home / "assets").write_text("not a directory")

    answer = api.post("/v1/assets", json=file())

    assert reason(answer) == (503, "assets/asset_storage_unavailable")
    assert str(daemon.settings.home) not in answer.text


# Who may


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_an_admin_gets_raw_bytes_and_collects(guarded: TestClient, role: str) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    asset_id = guarded.post("/v1/assets", json=file(), headers=admin).json()["asset_id"]
    made = guarded.post("/v1/tokens", json={"user_id": "u", "role": role}, headers=admin).json()
    other = {"Authorization": f"Bearer {made['token']}"}

    assert guarded.get(f"/v1/assets/{asset_id}", headers=other).status_code == 200
    assert guarded.get(f"/v1/assets/{asset_id}/raw", headers=other).status_code == 403
    assert guarded.post("/v1/assets/gc", headers=other).status_code == 403
    uploaded = guarded.post("/v1/assets", json=file(b"mine", "x"), headers=other)
    assert uploaded.status_code == (403 if role == "viewer" else 201)
    assert guarded.get(f"/v1/assets/{asset_id}/raw", headers=admin).content == PNG
    assert guarded.get(f"/v1/assets/{asset_id}/raw").status_code == 401


# Deleting and collecting


def test_an_asset_is_deleted_once(api: TestClient, daemon: Daemon) -> None:
    view = upload(api)
    path = f"/v1/assets/{view['asset_id']}"

    assert api.delete(path).json() == {"deleted": True}
    assert reason(api.delete(path)) == (404, "assets/asset_not_found")
    assert list((daemon.settings.home / "assets").iterdir()) == []


def test_collecting_tells_what_it_removes(api: TestClient) -> None:
    asset_id = upload(api)["asset_id"]

    spared = api.post("/v1/assets/gc").json()
    dry = api.post("/v1/assets/gc", json={"dry_run": True, "older_than_ms": 0}).json()
    done = api.post("/v1/assets/gc", json={"older_than_ms": 0}).json()

    assert spared == {"dry_run": False, "asset_ids": [], "blobs": 0, "has_more": False}
    assert dry == {"dry_run": True, "asset_ids": [asset_id], "blobs": 1, "has_more": False}
    assert done == {**dry, "dry_run": False}
    assert api.get("/v1/assets").json()["items"] == []


@pytest.mark.parametrize("age", [-1, 2**62, "1", 1.5])
def test_an_age_without_sense_is_refused(api: TestClient, age: object) -> None:
    answer = api.post("/v1/assets/gc", json={"older_than_ms": age})

    assert answer.status_code == 400
    assert pointers(answer) == ["/older_than_ms"]


# In the input of a run


@pytest.fixture
def session(live: Live, request: pytest.FixtureRequest) -> str:
    session_id = f"s{abs(hash(request.node.nodeid))}"
    live.session(session_id)
    return session_id


def submit(live: Live, session: str, **body: Any) -> Any:
    return live.client.post(f"/v1/sessions/{session}/runs", json=body)


def test_ordered_items_reach_the_model_in_their_order(live: Live, session: str) -> None:
    asset_id = live.ok("POST", "/v1/assets", file())["asset_id"]
    items = [
        {"type": "text", "text": "before"},
        {"type": "asset_reference", "asset_id": asset_id},
        {"type": "text", "text": "between"},
        {"type": "inline_asset", **file(b"%PDF-1.7 bill", "bill.pdf")},
    ]

    run = live.finished(submit(live, session, input_items=items).json()["run_id"])

    parts = live.model.requests[-1].turns[-1].parts
    assert [part.kind for part in parts] == ["text", "image", "text", "file"]
    assert (parts[1].data, parts[3].file_name) == (PNG, "bill.pdf")
    first, second = run["input_attachments"]
    assert first == asset_id
    assert live.client.get(f"/v1/assets/{second}/raw").content == b"%PDF-1.7 bill"
    references = live.ok("GET", f"/v1/assets/{asset_id}/references")["items"]
    assert {"asset_id": asset_id, "kind": "run", "ref_id": run["run_id"]} in references


def test_an_asset_of_a_run_cannot_be_deleted(live: Live, session: str) -> None:
    asset_id = live.ok("POST", "/v1/assets", file(b"held", "held.txt"))["asset_id"]
    live.run(session, "look", attachments=[asset_id])

    answer = live.client.delete(f"/v1/assets/{asset_id}")

    assert reason(answer) == (409, "assets/asset_delete_blocked")
    collected = live.ok("POST", "/v1/assets/gc", {"older_than_ms": 0})["asset_ids"]
    assert asset_id not in collected


def test_the_journal_shows_ids_and_no_bytes(live: Live, session: str) -> None:
    inline = {"type": "inline_asset", **file(b"%PDF-1.7 secret bill", "/home/me/bill.pdf")}
    live.finished(submit(live, session, input_items=[inline]).json()["run_id"])

    journal = live.client.get(f"/v1/sessions/{session}/events").text

    assert "ast_" in journal
    for never in ("/home/me", "content_base64", encoded(b"%PDF-1.7 secret bill")):
        assert never not in journal


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        (
            {
                "input_items": [
                    {"type": "text", "text": "a"},
                    {"type": "asset_reference", "asset_id": "x"},
                ]
            },
            "assets/asset_not_found",
            "/input_items/1",
        ),
        ({"content": "a", "attachments": ["ast_none"]}, "assets/asset_not_found", "/attachments/0"),
        (
            {"attachments": ["ast_none"], "input_items": [{"type": "text", "text": "a"}]},
            "runs/input_mixed",
            "/input_items",
        ),
        (
            {"input_items": [{"type": "inline_asset", "file_name": "x", "content_base64": "?"}]},
            "assets/invalid_base64",
            "/input_items/0/content_base64",
        ),
        (
            {"input_items": [{"type": "inline_asset", **file(media_type="image/gif")}]},
            "assets/media_type_mismatch",
            "/input_items/0/media_type",
        ),
        (
            {"input_items": [{"type": "board_reference", "board_id": "b"}]},
            "runs/input_item_unsupported",
            "/input_items/0",
        ),
        ({"input_items": [{"type": "hologram"}]}, "api/bad_request", "/input_items/0"),
        ({"input_items": []}, "runs/input_empty", "/content"),
    ],
)
def test_an_input_that_cannot_be_taken_is_told_where(
    live: Live, session: str, body: dict[str, Any], code: str, pointer: str
) -> None:
    answer = submit(live, session, **body)

    assert reason(answer) == (400, code)
    assert pointers(answer) == [pointer]
    assert live.ok("GET", f"/v1/runs?session_id={session}")["items"] == []


def test_an_inline_file_that_is_too_large_is_refused(live: Live, session: str) -> None:
    inline = {"type": "inline_asset", **file(b"x" * (MAX_ASSET_BYTES + 1), "x")}

    answer = submit(live, session, input_items=[inline])

    assert reason(answer) == (413, "assets/asset_too_large")
