"""What nobody does in a trial, nor in anything that a trial sets going, whatever its agent may do.

They are rules of the session, which every sidechain takes over and nobody can drop: those of the
agent are the operator's to change.
"""

from collections.abc import Mapping
from typing import Final

from understudy.agents.built_in import NOT_OF_VERIFICATION
from understudy.permissions.model import Decision, Rule

NOT_IN_TRIALS: Final[Mapping[str, str]] = {
    "ask_user": "nobody is there to answer: this only tries a skill out",
    **NOT_OF_VERIFICATION,
}
TRIAL_RULES: Final = tuple(
    Rule(tool=tool, decision=Decision.DENY, reason=reason) for tool, reason in NOT_IN_TRIALS.items()
)
