"""Credentials in headers of requests and answers: authorization, signatures, cookies."""

import re
from collections.abc import Iterable
from typing import Final

from understudy.redaction.opaque import (
    is_basic_pair,
    is_made_up,
    is_opaque_enough,
    is_value,
    key_grade,
    looks_random,
)
from understudy.redaction.rule import Match, Rule, Span, group, group_if

_QUOTE: Final = r"(?:\\{0,3}[\"'`])?"
_OPAQUE: Final = r"[A-Za-z0-9._~+/=:@%$!*^&#-]"
_KIND_NAME: Final = re.compile(r"::\w*\Z")
_COOKIE: Final = re.compile(r"([\w!#$%&*+.^|~-]{1,128})=([^;,\s\"']{1,4096})")
_STRICT: Final = group_if(is_opaque_enough)
_RANDOM: Final = "k8Jq" + "2Zx9Lm4T" + "v7Bd1Wc3"


def _bearer(match: Match) -> Iterable[Span]:
    """Prose says "bearer tokens" and "the bearer of": a credential has more than letters."""
    value = match["secret"].rstrip(".,;:")
    start, end = match.span("secret")
    if is_made_up(value) or match.string.startswith("(", end):
        return ()
    if value.isalpha() and not looks_random(value):
        return ()
    return ((start, start + len(value)),)


def _header(match: Match) -> Iterable[Span]:
    value = match["secret"].rstrip(".,;:")
    start, _ = match.span("secret")
    if not is_value(value) or (not match["scheme"] and not looks_random(value, least=6)):
        return ()
    # The name of a kind of resource, as in `AWS::Config::AggregationAuthorization`.
    if _KIND_NAME.search(match.string, max(0, match.span()[0] - 60), match.span()[0]):
        return ()
    return ((start, start + len(value)),)


def _cookies(match: Match) -> Iterable[Span]:
    start, end = match.span("pairs")
    for pair in _COOKIE.finditer(match.string, start, end):
        value = pair[2]
        is_session = key_grade(pair[1]) > 0 and len(value) >= 6 and not value.isalpha()
        if (is_session or looks_random(value)) and is_value(value):
            yield pair.span(2)


HEADERS: Final = (
    Rule(
        id="authorization-header",
        kind="authorization",
        trigger="(?i)authorization",
        pattern=rf"(?i)authorization{_QUOTE}[\])]?\s{{0,8}}(?:=>|[:=,])\s{{0,8}}(?:[bf]?\\{{0,3}}[\"'`])?"
        rf"(?P<scheme>bearer|basic|token|digest|apikey|api-key|key|negotiate|hawk|ssws|jwt|bot|oauth|genie"
        rf"key|splunk|zoho-oauthtoken)?[\s:=+]{{0,8}}(?P<secret>{_OPAQUE}{{4,}})",
        pick=_header,
        strict=_STRICT,
        matches=(
            "Authorization: Bearer " + "raw-token",
            "AUTHORIZATION: BASIC " + "dTpw" + "YXNz",
            "authorization: " + _RANDOM,
        ),
        misses=(
            "Authorization: Bearer <token>",
            'curl -H "Authorization: Bearer $TOKEN"',
            "Authorization: required for admins",
        ),
    ),
    Rule(
        id="signed-request",
        kind="authorization",
        trigger=r"(?i)(?:signature|response)=",
        pattern=r"(?i)\b(?:signature|response)=\"?(?P<secret>[0-9a-f]{32,128}|[A-Za-z0-9+/]{27,}={0,2})",
        pick=group,
        matches=("AWS4-HMAC-SHA256 Credential=x/y, Signature=" + "a1b2c3d4" * 8,),
        misses=("Signature=invalid", "signature = sign(body)"),
    ),
    Rule(
        id="bearer",
        kind="authorization",
        trigger="(?i)bearer",
        pattern=rf"(?i)\bbearer[ \t+=:]{{1,8}}{_QUOTE}(?P<secret>{_OPAQUE}{{4,}})",
        pick=_bearer,
        strict=_STRICT,
        matches=("Bearer " + "raw-token", "BEARER " + "abc123def", "BEARER " + "abc.def"),
        misses=("Bearer tokens are accepted.", "He is the bearer of news.", "Bearer {access_token}"),
    ),
    Rule(
        id="basic",
        kind="authorization",
        trigger=r"(?i)(?:basic|auth)[\"'\\]{0,4}[ \t:=+]+[\"'\\]{0,4}[A-Za-z0-9+/_-]{4}",
        pattern=rf"(?i)\b(?:basic|_?auth)[\"'\\]{{0,4}}[ \t:=+]{{1,8}}{_QUOTE}(?P<secret>[A-Za-z0-9+/_-]{{4,}}={{0,2}})",
        pick=group_if(is_basic_pair),
        strict=_STRICT,
        matches=("Basic " + "dXNlcjpw" + "YXNz", '"auth": "' + "dXNlcjpw" + 'YXNzdw=="'),
        misses=("Basic authentication is off.", "basic arithmetic"),
    ),
    Rule(
        id="cookie-header",
        kind="secret",
        trigger="(?i)cookie",
        pattern=r"(?i)\b(?:set-)?cookie[\"'\]]{0,2}\s{0,4}[:=]\s{0,4}[\"']?(?P<pairs>[\w!#$%&*+.^|~-]{1,128}=[^\r\n\"']+)",
        pick=_cookies,
        matches=("Cookie: theme=dark; sid=" + _RANDOM, "Set-Cookie: session_id=" + "a1b2c3" + "; Path=/"),
        misses=("Cookie preference: oatmeal", "Cookie: theme=dark; lang=en"),
    ),
)  # fmt: skip
