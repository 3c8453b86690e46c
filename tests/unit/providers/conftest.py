"""The fake model, and a provider of each wire that talks to it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.unit.providers.asks import KEY, MakeProvider
from understudy.providers.base import Provider
from understudy.testing.fake_model import FakeModel


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def make_provider(fake: FakeModel) -> AsyncIterator[MakeProvider]:
    """Makes providers that talk to the fake model."""
    made: list[Provider] = []

    def make(wire: str, *, api_key: str | None = KEY, base_url: str | None = None) -> Provider:
        url = base_url or fake.url
        if wire == "openai":
            from understudy.providers.openai import OpenAIProvider

            made.append(OpenAIProvider(api_key=api_key, base_url=url))
        else:
            from understudy.providers.anthropic import AnthropicProvider

            made.append(AnthropicProvider(api_key=api_key, base_url=url))
        return made[-1]

    yield make
    for provider in made:
        await provider.close()


@pytest.fixture
def provider(wire: str, make_provider: MakeProvider) -> Provider:
    return make_provider(wire)
