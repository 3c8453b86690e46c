"""Tiny packages of pip and npm, made here and served from this machine."""

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def make_wheel(folder: Path, name: str, files: Mapping[str, str], version: str = "1.0") -> Path:
    """A wheel of a few Python files."""
    info = f"{name}-{version}.dist-info"
    inside = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_hash(text)},{len(text)}\n" for path, text in inside.items())
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in inside.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return wheel


def make_source(folder: Path, name: str, program: str) -> Path:
    """A source distribution that brings its own builder: the program runs if it is built."""
    path = folder / f"{name}-1.0.tar.gz"
    inside = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "pyproject.toml": (
            '[build-system]\nrequires = []\nbuild-backend = "builder"\nbackend-path = ["."]\n'
        ),
        "builder.py": program,
    }
    _write_tar(path, {f"{name}-1.0/{file}": text for file, text in inside.items()})
    return path


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _write_tar(path: Path, files: Mapping[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


@contextmanager
def npm_registry(folder: Path, packages: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """A registry on the loopback with one version of each package; the values are package.json."""
    answers: dict[str, bytes] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.get(self.path.replace("%2f", "/"))
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body or b"{}")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    address = f"http://127.0.0.1:{server.server_port}"
    for name, facts in packages.items():
        whole = {"name": name, "version": "1.0.0", **facts}
        tarball = folder / f"{name.replace('/', '-')}.tgz"
        _write_tar(tarball, {"package/package.json": json.dumps(whole)})
        data = tarball.read_bytes()
        digest = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {"tarball": f"{address}/{name}/-/it.tgz", "integrity": digest}
        version = {**whole, "dist": dist}
        about = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        answers[f"/{name}"] = json.dumps(about).encode()
        answers[f"/{name}/-/it.tgz"] = data
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
