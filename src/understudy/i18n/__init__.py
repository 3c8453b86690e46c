"""Translations: messages, error texts and terms in the supported languages."""
