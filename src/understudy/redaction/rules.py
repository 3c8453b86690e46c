"""All the rules in the order of their say: where two take the same text, the earlier names it."""

from functools import cache
from itertools import chain

from understudy.redaction.rule import Rule

Table = tuple[Rule, ...]


@cache
def secret_tables() -> tuple[Table, ...]:
    """What is taken out of every text, in tables whose triggers are looked for at once."""
    from understudy.redaction.blocks import BLOCKS
    from understudy.redaction.commands import COMMANDS
    from understudy.redaction.documents import DOCUMENTS
    from understudy.redaction.families import FAMILIES, SHAPES
    from understudy.redaction.headers import HEADERS
    from understudy.redaction.links import LINKS
    from understudy.redaction.nearby import NEARBY
    from understudy.redaction.prefixed import PREFIXED
    from understudy.redaction.tables import TABLES

    return (
        (*BLOCKS, *FAMILIES),
        (*SHAPES, *PREFIXED, *LINKS, *HEADERS),
        (*COMMANDS, *DOCUMENTS, *TABLES, *NEARBY),
    )


@cache
def personal_tables() -> tuple[Table, ...]:
    """What is taken out where personal data may not stay."""
    from understudy.redaction.national import NATIONAL
    from understudy.redaction.personal import PERSONAL

    return ((*PERSONAL, *NATIONAL),)


@cache
def secret_rules() -> Table:
    """The rules for secrets."""
    return tuple(chain(*secret_tables()))


@cache
def personal_rules() -> Table:
    """The rules for personal data."""
    return tuple(chain(*personal_tables()))
