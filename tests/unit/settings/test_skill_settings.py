"""What the config file says about skills and their guard."""

from pathlib import Path

import pytest

from understudy.settings import Flags, Settings, SettingsError, load_settings


def load(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "config.toml").write_text(text)
    return load_settings(Flags(home=tmp_path), {"HOME": str(tmp_path / "me")})


def test_by_default_no_folder_is_looked_into_and_nothing_unsafe_is_kept(tmp_path: Path) -> None:
    settings = load(tmp_path, "")
    assert settings.skill_roots == ()
    assert not settings.guard_allow_acknowledged
    assert settings.user_home == tmp_path / "me"


@pytest.mark.parametrize("older", ["", "local = true", "local = false"])
def test_roots_can_be_named_and_an_older_switch_has_no_effect(tmp_path: Path, older: str) -> None:
    settings = load(tmp_path, f'[skills]\nroots = ["/srv/skills"]\n{older}')
    assert settings.skill_roots == (Path("/srv/skills"),)


def test_an_admin_can_be_let_keep_what_the_guard_refuses(tmp_path: Path) -> None:
    assert load(tmp_path, "[guard]\nallow_acknowledged = true").guard_allow_acknowledged


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[skills]\nroot = ["/srv"]', "skills.root: is not a setting; did you mean roots?"),
        ('[guard]\nallow_acknowledged = "perhaps"', "guard.allow_acknowledged"),
        ("[skills]\nroots = 3", "skills.roots"),
    ],
)
def test_a_bad_entry_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as problem:
        load(tmp_path, text)
    assert said in str(problem.value)
