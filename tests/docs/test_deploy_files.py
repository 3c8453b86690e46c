"""The files for services and containers name what there is."""

import re
from pathlib import Path

import pytest
import yaml

from understudy.settings import Flags, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "howto" / "install.md").read_text()


def test_every_file_that_the_image_copies_is_there() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    copied = [line.split()[1:-1] for line in re.findall(r"^COPY (?!--).*$", text, re.MULTILINE)]

    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    assert "pyproject.toml" in copied[0]


def test_the_image_runs_as_nobody_special_and_is_checked() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    (user,) = re.findall(r"^USER (\S+)$", text, re.MULTILINE)

    assert user not in ("root", "0")
    assert re.search(r"^HEALTHCHECK .*", text, re.MULTILINE)
    assert text.index("USER ") < text.index('CMD ["understudy"')


def test_compose_sets_only_settings_that_exist(tmp_path: Path) -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = services["understudy"]["environment"]
    assert {name for name in given if name.startswith("UNDERSTUDY_")} == {
        "UNDERSTUDY_ADMIN_TOKEN",
        "UNDERSTUDY_DATABASE_URL",
    }
    url = re.sub(r"\$\{.*\}", "letters1", given["UNDERSTUDY_DATABASE_URL"])
    token = "t" * 40
    settings = load_settings(
        Flags(home=tmp_path),
        environment={"UNDERSTUDY_DATABASE_URL": url, "UNDERSTUDY_ADMIN_TOKEN": token},
    )

    assert not settings.is_sqlite
    assert settings.admin_token is not None
    assert services["understudy"]["ports"] == ["127.0.0.1:4600:4600"]


@pytest.mark.parametrize("path", sorted(DEPLOY.iterdir()), ids=lambda path: path.name)
def test_the_page_names_every_file(path: Path) -> None:
    assert f"deploy/{path.name}" in PAGE
