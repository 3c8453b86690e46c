"""Third-party files are those that their manifest names, byte for byte."""

import hashlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MANIFESTS = [
    ROOT / "src" / "understudy" / "console" / "static" / "vendor" / "manifest.toml",
    ROOT / "tests" / "console" / "vendor" / "manifest.toml",
]
FILES = [
    pytest.param(manifest.parent, each, id=each["name"])
    for manifest in MANIFESTS
    for each in tomllib.loads(manifest.read_text())["file"]
]


@pytest.mark.parametrize(("folder", "file"), FILES)
def test_a_vendored_file_has_the_checksum_of_its_manifest(
    folder: Path, file: dict[str, str]
) -> None:
    assert hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest() == file["sha256"]


@pytest.mark.parametrize(("folder", "file"), FILES)
def test_a_vendored_file_names_its_origin(folder: Path, file: dict[str, str]) -> None:
    assert set(file) == {"name", "package", "version", "path", "licence", "sha256"}
    assert all(file.values())


@pytest.mark.parametrize("manifest", MANIFESTS, ids=["served", "tests"])
def test_every_vendored_file_is_in_the_manifest_with_the_licence_of_its_package(
    manifest: Path,
) -> None:
    files = tomllib.loads(manifest.read_text())["file"]
    names = {each["name"] for each in files}

    assert {path.name for path in manifest.parent.iterdir()} == names | {manifest.name}
    assert {each["package"] for each in files} == {
        each["package"] for each in files if "LICENSE" in each["name"]
    }
