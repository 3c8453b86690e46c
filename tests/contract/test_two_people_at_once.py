"""Two-person changes that several people approve at the same moment: made once, begun once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from understudy.core.audit import done
from understudy.core.clock import SystemClock
from understudy.core.errors import Conflict
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.inbox.second_approvals import GatedChange, answering
from understudy.runtime.service import RuntimeService
from understudy.runtime.two_people import SETTING, TwoApprovers
from understudy.storage.unit import Units

CLOCK = SystemClock()


class Office:
    """A policy change that two people have to approve."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.made: list[str] = []
        root = Principal(user_id="root", role=Role.ADMIN)
        RuntimeService(units, CLOCK).change(root, {SETTING: ["policy_change"]})

    def asked_by(self, name: str) -> GatedChange:
        return GatedChange(
            units=self.units,
            clock=CLOCK,
            principal=Principal(user_id=name, role=Role.ADMIN),
            subject=TwoApprovers.POLICY_CHANGE,
            operation="learning_policy.set",
            values={},
            body={"mode": "shadow"},
        )

    def approve(self, name: str, before: Callable[[int], None] = lambda _: None) -> str:
        """Ask for the change, and answer the id of what waits; `before` runs before each try to make it."""
        change, tries = self.asked_by(name), 0

        def act() -> None:
            nonlocal tries
            tries += 1
            before(tries)
            with self.units.write() as unit:
                unit.audit.add(done(change.principal, "test.made", name, at_ms=CLOCK.now_ms()))
                unit.after_commit(lambda: self.made.append(name))

        waiting = change.carry_out(act)
        return "" if waiting is None else waiting.approval_id

    def waiting(self) -> int:
        with self.units.read() as unit:
            page = unit.second_approvals.page(PageRequest(), now_ms=CLOCK.now_ms())
        return len(page.items)


def together_at_first(people: Barrier) -> Callable[[int], None]:
    """Have everybody try at the same moment."""

    def wait(tries: int) -> None:
        if tries == 1:
            people.wait(20)

    return wait


@pytest.fixture
def office(units: Units) -> Office:
    office = Office(units)
    office.approve("ann")
    office.approve("bob")
    return office


@pytest.mark.parametrize("moment", [1, 2], ids=["before it is noted", "before it is made"])
def test_who_approves_a_moment_later_is_told_that_it_is_decided(
    office: Office, moment: int
) -> None:
    def overtaken(tries: int) -> None:
        if tries == moment:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(office.approve, "cid").result()

    with pytest.raises(Conflict) as refused:
        office.approve("dan", overtaken)

    assert refused.value.code == "already_decided"
    assert (office.made, office.waiting()) == (["cid"], 0)


def test_an_answer_to_what_was_decided_begins_nothing(office: Office) -> None:
    [approval_id] = {office.approve("ann"), office.approve("bob")}
    office.approve("cid")

    with answering(approval_id), pytest.raises(Conflict) as refused:
        office.approve("dan")

    assert refused.value.code == "already_decided"
    assert (office.made, office.waiting()) == (["cid"], 0)


def test_of_many_at_once_one_makes_the_change(office: Office) -> None:
    people = [f"person-{number}" for number in range(6)]
    together = Barrier(len(people))

    def approve(name: str) -> str:
        try:
            return office.approve(name, together_at_first(together))
        except Conflict as refused:
            return refused.code

    with ThreadPoolExecutor(len(people)) as pool:
        answers = sorted(pool.map(approve, people))

    assert answers == ["", *["already_decided"] * 5]
    assert (len(office.made), office.waiting()) == (1, 0)


def test_first_approvals_at_once_are_the_first_and_the_second(units: Units) -> None:
    office = Office(units)
    office.approve("ann")
    together = Barrier(2)

    def approve(name: str) -> str:
        return office.approve(name, together_at_first(together))

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(approve, ["bob", "cid"]))

    assert answers.count("") == len(office.made) == 1
    assert office.waiting() == 0
