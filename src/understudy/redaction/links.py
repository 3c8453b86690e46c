"""Secrets inside URLs, connection strings and the addresses of hooks and bots.

No pattern looks far beyond what it matches, so a search that starts again after a match does not
read the same text twice.
"""

import re
from collections.abc import Iterable
from typing import Final

from understudy.redaction import words
from understudy.redaction.opaque import (
    is_made_up,
    is_placeholder,
    is_random_value,
    is_value,
    key_grade,
    looks_random,
    name_words,
)
from understudy.redaction.rule import Match, Rule, Span, group_if, whole

_PORT: Final = re.compile(r"[0-9]{2,5}(?:[/?#]|\Z)")
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
_AROUND_ADDRESS: Final = re.compile(
    r"'(?:\W|\Z)|[\])}][,.;:)\]}]|,(?:https?:|[\"'\[{]|\Z)|[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]"
)
_RANDOM: Final = "k8Jq" + "2Zx9Lm4T" + "v7Bd1Wc3"


def _url_password(match: Match) -> Iterable[Span]:
    value = match["secret"]
    if is_placeholder(value) or _PORT.match(value) or value.lower() in {"pass", "pw"}:
        return ()
    return (match.span("secret"),)


def _user_alone(match: Match) -> Iterable[Span]:
    """A URL's user without a password, when it is a token."""
    return (match.span("secret"),) if is_random_value(match["secret"]) else ()


def _query(match: Match) -> Iterable[Span]:
    key, value = match["key"], _of_address(match["secret"])
    start, _ = match.span("secret")
    span = start, start + len(value)
    if is_placeholder(value) or is_made_up(value):
        return ()
    compact = "".join(name_words(key))
    grade = key_grade(key)
    if grade == 2 or compact in words.SURE_QUERY_KEYS:
        return (span,)
    if grade or compact in words.QUERY_KEYS:
        return (span,) if looks_random(value) else ()
    return ()


def _of_address(value: str) -> str:
    """A parameter without the text around its address: what closes something, and marks."""
    ends = _AROUND_ADDRESS.search(value)
    value = (value[: ends.start()] if ends else value).rstrip(".,:!?")
    while (
        value and value[-1] in _CLOSES and value.count(_CLOSES[value[-1]]) < value.count(value[-1])
    ):
        value = value[:-1].rstrip(".,:!?")
    return value


LINKS: Final = (
    Rule(
        id="url-password",
        kind="password",
        trigger=r"://[^\s/:@?#<>\"'`]*:[^\s/<>\"]+@",
        pattern=r"://[^\s/:@?#<>\"'`]*:(?P<secret>(?:[^\s/<>\"'`]|[A-Za-z0-9]['`][A-Za-z0-9])+)@",
        pick=_url_password,
        matches=("postgres://app:" + "hunter2" + "@db.test/app", "redis://:" + "p4ss" + "@cache:6379"),
        misses=(
            "postgres://$USER:$PASS@$HOST/db",
            "postgres://user:<password>@localhost/db",
            "postgres://%s:%s@localhost/db",
            "https://example.test:8080/a@b",
        ),
    ),
    Rule(
        id="url-password-cut",
        kind="password",
        trigger=r"://[^\s/:@?#<>\"'`]+:[^\s/:@<>\"'`.…]{6}",
        pattern=r"://[^\s/:@?#<>\"'`]+:(?P<secret>[^\s/:@<>\"'`.…]{6,})(?:…|\.\.\.|$)",
        pick=group_if(is_random_value),
        matches=("postgres://app:" + _RANDOM + "…",),
        misses=("https://example.test:8080", "https://example.test:8080…"),
    ),
    Rule(
        id="url-user-token",
        kind="secret",
        trigger=r"://[A-Za-z0-9_.~%-]{12}",
        pattern=r"://(?P<secret>[A-Za-z0-9_.~%-]{12,})(?::x-oauth-basic)?@",
        pick=_user_alone,
        matches=("https://" + _RANDOM + "@o1.ingest.test/42",),
        misses=("ssh://deploy@host.test/repo", "https://${TOKEN}@host.test"),
    ),
    Rule(
        id="jdbc-thin-password",
        kind="password",
        trigger=r":thin:",
        pattern=r":thin:[^\s/:@]{1,64}/(?P<secret>[^\s@\"']{1,128})@",
        pick=group_if(is_value),
        matches=("jdbc:oracle:thin:scott/" + "t1ger" + "@db.test:1521/x",),
        misses=("jdbc:oracle:thin:@db.test:1521/x",),
    ),
    Rule(
        id="query-parameter",
        kind="secret",
        trigger=r"[?&#;][A-Za-z][\w.-]*=",
        pattern=r"[?&#;](?P<key>[A-Za-z][A-Za-z0-9_.-]{0,63}(?:\[[a-z_]{0,20}\])?)=(?P<secret>[^\s&#;<>\"`…]+)",
        pick=_query,
        matches=(
            "https://h.test/i?safe=1&signature=" + "s1",
            "https://h.test/i?api_key=" + "k1" + "&safe=1",
            "https://h.test/cb#access_token=" + "a1b2",
        ),
        misses=(
            "https://h.test/search?q=token&page=2",
            "https://h.test/list?page_token=abc",
            "https://h.test/i?token=${TOKEN}",
            "https://h.test/cb?code=404&key=name",
        ),
    ),
    Rule(
        id="webhook-path",
        kind="secret",
        trigger=r"(?i)hook[^\s]{0,40}/",
        pattern=r"(?i)(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[\w-]+/[\w-]+(?:/[0-9]+)?"
        r"|discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+|hooks\.zapier\.com/hooks/catch/[0-9]+"
        r"|webhook\.office\.com/webhookb2/[\w@-]+/IncomingWebhook|hook\.[a-z0-9.]*make\.com"
        r"|[a-z0-9.-]{1,80}/hooks"
        r"|(?:oapi\.dingtalk\.com|open\.(?:feishu|larksuite)\.(?:cn|com))/[\w/-]*hook)/(?P<secret>[\w-]{8,}(?:/[\w-]{8,}){0,2})",
        pick=group_if(is_random_value),
        matches=("https://hooks.slack.com/services/T01/B02/" + _RANDOM,),
        misses=("https://hooks.slack.com/services/T00/B00/...", "https://hooks.slack.com/docs"),
    ),
    Rule(
        id="key-in-path",
        kind="secret",
        trigger=r"(?i)/(?:key|token|secret|apikey|api_key)s?/[A-Za-z0-9_-]{20}",
        pattern=r"(?i)://[^\s\"'<>]{1,200}/(?:key|token|secret|apikey|api_key)s?/(?P<secret>[A-Za-z0-9_-]{20,})",
        pick=group_if(is_random_value),
        matches=("https://maker.ifttt.com/trigger/e/with/key/" + _RANDOM + "Qw8",),
        misses=("https://h.test/docs/key/how-to-rotate-your-api-key",),
    ),
    Rule(
        id="telegram-bot",
        kind="api-key",
        trigger="[0-9]{6}:A",
        pattern=r"(?:\b|bot)[0-9]{6,12}:(?P<secret>A[A-Za-z0-9_-]{20,})",
        pick=group_if(looks_random),
        matches=("12345678:" + "AA" + _RANDOM + "Qw8Er5Ty2",),
        misses=("12345678:AAAAAAAA", "at 12345678:ABC"),
    ),
    Rule(
        id="discord-bot",
        kind="api-key",
        trigger=r"[A-Za-z0-9_-]\.[A-Za-z0-9_-]{6}\.|mfa\.",
        pattern=r"\b(?:[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,}|mfa\.[A-Za-z0-9_-]{40,})",
        pick=whole,
        matches=("MTIz" + "NDU2Nzg5MDEyMzQ1Njc4." + "GaBcDe." + _RANDOM + _RANDOM,),
        misses=("Module.submodule.function",),
    ),
    Rule(
        id="azure-connection",
        kind="secret",
        trigger="(?i)(?:account|access|secondary|primary)key=|;secret=|;pwd=",
        pattern=r"(?i)\b(?:accountkey|sharedaccesskey|accesskey|sharedsecretvalue|secret)=(?P<secret>[A-Za-z0-9+/_-]{8,}={0,2})",
        pick=group_if(is_random_value),
        matches=("AccountName=x;AccountKey=" + _RANDOM + _RANDOM + "==",),
        misses=("AccountKey=...", "AccountKey=<key>"),
    ),
    Rule(
        id="aws-pair",
        kind="secret",
        trigger="A(?:KIA|SIA)",
        pattern=r"\bA(?:KIA|SIA)[A-Z0-9]{16}[^A-Za-z0-9+/]{1,8}(?:[A-Za-z_ ]{0,40}[^A-Za-z0-9+/]{1,8})?(?P<secret>[A-Za-z0-9+/]{40})",
        pick=group_if(looks_random),
        matches=("AKIA" + "ABCDEFGH" + "IJKLMNOP:" + "k8Jq2Zx9Lm" * 4,),
        misses=("AKIA is how the ids of keys begin",),
    ),
)  # fmt: skip
