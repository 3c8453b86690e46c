"""The port to the durable engine; the only package that imports dbos."""

from importlib import import_module

from understudy.core.lazy import stand_ins

# DBOS also takes sessions of the ORM, which there are none of here: 0.05 s and 8 MiB.
with stand_ins("sqlalchemy.orm", "sqlalchemy.ext.asyncio"):
    import_module("dbos")
