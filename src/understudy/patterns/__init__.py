"""The pattern engine of redaction, guard and secret checks: RE2, rule books, text views."""
