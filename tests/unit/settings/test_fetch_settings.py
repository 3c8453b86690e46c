"""What the config file lets `fetch_url` reach."""

from pathlib import Path

import pytest

from understudy.settings import Flags, Settings, SettingsError, load_settings


def load(tmp_path: Path, text: str) -> Settings:
    config = tmp_path / "config.toml"
    config.write_text(text)
    return load_settings(Flags(home=tmp_path), {})


def test_by_default_nothing_private_may_be_reached(tmp_path: Path) -> None:
    assert load(tmp_path, "").fetch_allow == ()


def test_hosts_addresses_and_networks_can_be_allowed(tmp_path: Path) -> None:
    settings = load(tmp_path, '[fetch]\nallow = ["127.0.0.1:8080", "10.0.0.0/8", "wiki"]')
    assert settings.fetch_allow == ("127.0.0.1:8080", "10.0.0.0/8", "wiki")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[fetch]\nallow = ["wiki", "*"]', "fetch.allow.1: '*' is neither"),
        ('[fetch]\nallow = ["10.0.0.1/8"]', "fetch.allow.0: '10.0.0.1/8' is not a network"),
        ('[fetch]\nallow = ["http://wiki/"]', "is a URL"),
        ('[fetch]\nallow = "wiki"', "fetch.allow"),
        ("[fetch]\nallow = [1]", "fetch.allow.0"),
        ('[fetch]\nallows = ["wiki"]', "fetch.allows: is not a setting; did you mean allow?"),
    ],
)
def test_a_bad_entry_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as problem:
        load(tmp_path, text)
    assert said in str(problem.value)
