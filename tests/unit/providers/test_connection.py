"""Through which proxy a model server is called."""

import pytest

from understudy.providers.base import ProviderError
from understudy.providers.connection import proxy_for

PROXY = "http://proxy.example:3128"


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)


def test_without_a_setting_there_is_no_proxy() -> None:
    assert proxy_for("https://models.example/v1") is None


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_server_is_called_through_the_proxy_of_its_scheme_or_of_all(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, PROXY)
    assert proxy_for("https://models.example/v1") == PROXY


def test_the_proxy_of_another_scheme_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", PROXY)
    assert proxy_for("https://models.example/v1") is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://localhost:1/v1"])
def test_this_machine_is_called_directly(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ALL_PROXY", PROXY)
    assert proxy_for(url) is None


def test_servers_that_the_environment_excepts_are_called_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", "models.example")
    assert proxy_for("https://models.example/v1") is None
    assert proxy_for("https://others.example/v1") == PROXY
    monkeypatch.setenv("NO_PROXY", "models.example:8443")
    assert proxy_for("https://models.example:8443/v1") is None
    assert proxy_for("https://models.example/v1") == PROXY


def test_a_proxy_without_a_scheme_speaks_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    assert proxy_for("https://models.example/v1") == PROXY


def test_a_proxy_of_a_kind_that_is_not_spoken_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://me:hunter22@proxy.example:1080")
    with pytest.raises(ProviderError, match="of the kind socks5") as caught:
        proxy_for("https://models.example/v1")
    assert "hunter22" not in caught.value.detail
