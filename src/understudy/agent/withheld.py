"""Which tools are withheld from a model: those that the rules of its agent or session always deny."""

from understudy.agents.model import Agent
from understudy.core.errors import DamagedRecord, Invalid
from understudy.permissions.rules import denied_outright, read_document
from understudy.permissions.sidechains import read_session_rules
from understudy.sessions.model import Session


def withheld_in(agent: Agent | None, session: Session) -> tuple[str, ...]:
    """The patterns of their names."""
    try:
        own = () if agent is None else read_document(agent.permissions)
        return denied_outright((*own, *read_session_rules(session.permissions).all))
    except (Invalid, DamagedRecord):
        # Then every call is denied, and the model is told why.
        return ()
