"""A slice of the poisoning benchmark: some orders through every door, in the mode that allows most,
with a model that names strangers' words as the user's."""

import pytest

from bench.poisoning import measure


@pytest.mark.slow
def test_an_obedient_model_that_quotes_strangers_as_the_user_is_contained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert measure(is_permissive=True, quotes=True, every=15), capsys.readouterr().out
