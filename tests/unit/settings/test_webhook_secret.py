"""The webhook secret comes from the environment alone, is long enough, and is never shown."""

from pathlib import Path

import pytest

from understudy.settings import Flags, SettingsError, load_settings

SECRET = "of-the-tests-" + "own-making"


def test_without_one_the_daemon_makes_its_own(tmp_path: Path) -> None:
    settings = load_settings(Flags(home=tmp_path), {})

    assert settings.webhook_secret is None


def test_it_is_read_from_the_environment_and_counts_as_a_secret(tmp_path: Path) -> None:
    settings = load_settings(Flags(home=tmp_path), {"UNDERSTUDY_WEBHOOK_SECRET": SECRET})

    assert settings.webhook_secret is not None
    assert settings.webhook_secret.get_secret_value() == SECRET
    assert SECRET in settings.secrets
    assert SECRET not in repr(settings)


def test_one_that_can_be_guessed_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(Flags(home=tmp_path), {"UNDERSTUDY_WEBHOOK_SECRET": "hunter2"})

    assert "UNDERSTUDY_WEBHOOK_SECRET" in str(refused.value)
    assert "hunter2" not in str(refused.value)
