"""What the config file says about agents that evolve."""

from pathlib import Path

import pytest

from understudy.settings import Flags, Settings, SettingsError, load_settings
from understudy.settings.effective import setting_rows


def load(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "config.toml").write_text(text)
    return load_settings(Flags(home=tmp_path), {})


@pytest.mark.parametrize(
    ("text", "percent", "source"),
    [("", 40, "default"), ("[evolution]\nsoul_change_percent = 25", 25, "file")],
)
def test_how_much_of_its_soul_an_agent_may_change_can_be_set(
    tmp_path: Path, text: str, percent: int, source: str
) -> None:
    settings = load(tmp_path, text)

    assert settings.soul_change_percent == percent
    [shown] = [row for row in setting_rows(settings) if row["name"] == "evolution"]
    assert shown == {
        "name": "evolution",
        "value": f"soul_change_percent {percent}",
        "source": source,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("soul_change_percent = 0", "evolution.soul_change_percent"),
        ("soul_change_percent = 101", "evolution.soul_change_percent"),
        ('soul_change_percent = "all"', "evolution.soul_change_percent"),
        ("soul_change = 40", "is not a setting; did you mean soul_change_percent?"),
    ],
)
def test_a_bad_entry_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as problem:
        load(tmp_path, f"[evolution]\n{text}")
    assert said in str(problem.value)
