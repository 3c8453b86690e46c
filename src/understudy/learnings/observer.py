"""Who is told what the learning plane does, so that somebody can count it."""

from typing import Final, Protocol

from understudy.learnings.model import Action, CapturePath, PolicyDecision


class Observer(Protocol):
    """Counts; it is told after the change stands."""

    def candidate_proposed(self, path: CapturePath) -> None:
        """A candidate was made."""
        ...

    def candidate_reviewed(self, action: Action) -> None:
        """Automation made up its mind about a candidate."""
        ...

    def judge_failed(self) -> None:
        """The judge did not answer, or not in a way that can be used."""
        ...

    def learning_published(self, decision: PolicyDecision) -> None:
        """A learning was made."""
        ...


class _Nobody:
    def candidate_proposed(self, path: CapturePath) -> None:
        pass

    def candidate_reviewed(self, action: Action) -> None:
        pass

    def judge_failed(self) -> None:
        pass

    def learning_published(self, decision: PolicyDecision) -> None:
        pass


NOBODY: Final[Observer] = _Nobody()
