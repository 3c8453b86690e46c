"""The pattern engine under redaction, guard and the secret checks: RE2, rule books, views of a text, word lists."""
