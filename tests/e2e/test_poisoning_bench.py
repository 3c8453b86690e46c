"""A slice of the poisoning benchmark: some orders through every door, in the mode that allows most."""

import pytest

from bench.poisoning import measure


@pytest.mark.slow
def test_an_obedient_model_is_contained(capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(is_permissive=True, every=15), capsys.readouterr().out
