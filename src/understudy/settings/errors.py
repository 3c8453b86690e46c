"""What goes wrong with settings."""


class SettingsError(Exception):
    """The configuration cannot be used; the message names the offending key."""
