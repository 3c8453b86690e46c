"""What a daemon makes at its start so that canaries can be drawn."""

from understudy.daemon.wiring import Daemon


def test_a_start_makes_the_secret_that_canaries_are_drawn_by_and_keeps_it(daemon: Daemon) -> None:
    def secret() -> str | None:
        with daemon.resources.units.read() as unit:
            return unit.canary_secret.get()

    assert secret() is None
    daemon.services.rollout.startup()
    made = secret()
    assert made is not None
    daemon.services.rollout.startup()
    assert secret() == made
