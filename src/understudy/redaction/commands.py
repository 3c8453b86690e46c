"""Passwords on command lines and in files of old formats, hashes of passwords, one-time codes."""

from collections.abc import Iterable, Iterator
from typing import Final

from understudy.redaction import words
from understudy.redaction.opaque import is_harmless_shape, is_value, looks_random
from understudy.redaction.rule import Match, Rule, Span, group_if, whole
from understudy.redaction.values import is_said_password


def _command_password(match: Match) -> Iterable[Span]:
    value = match["secret"]
    if not is_value(value) or is_harmless_shape(value):
        return ()
    return (match.span("secret"),) if not value.isalpha() or looks_random(value) else ()


def _groups(match: Match) -> Iterator[tuple[str, Span]]:
    """The named groups that took part."""
    for name in match.names:
        span = match.span(name)
        if span[0] >= 0:
            yield name, span


def _named_group(match: Match) -> Iterable[Span]:
    return tuple(span for _, span in _groups(match))


def _is_more_than_a_word(value: str) -> bool:
    return (
        is_value(value)
        and not is_harmless_shape(value)
        and (not value.isalpha() or looks_random(value))
    )


def _piped(match: Match) -> Iterable[Span]:
    return tuple(
        span for _, span in _groups(match) if _is_more_than_a_word(match.string[slice(*span)])
    )


def _user_and_password(match: Match) -> Iterable[Span]:
    for name, (start, end) in _groups(match):
        value = match.string[start:end].rstrip(".,;:)")
        is_one = (
            is_said_password(value, is_next=True, is_password=True)
            if name == "said"
            else _is_more_than_a_word(value)
        )
        if is_one:
            yield start, start + len(value)


def _spaced(match: Match) -> Iterable[Span]:
    """Words or groups with blanks between them; a sentence has words that no passphrase has."""
    for name, (start, end) in _groups(match):
        parts = match.string[start:end].lower().split()
        if name == "seed" or not words.SENTENCE_WORDS & set(parts):
            yield start, end


def _phrase(match: Match) -> Iterable[Span]:
    count = len(match["secret"].split())
    return (match.span("secret"),) if count in {12, 15, 18, 21, 24} else ()


# Programs, and what on their command line a password follows.
_PROGRAMS: Final = (
    ("sshpass", r"-p\s?"),
    ("mysql|mysqldump|mysqladmin|mysqlimport|mariadb", r"-p"),
    ("redis-cli", r"-a\s"),
    ("mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport", r"-p\s"),
    (
        r"docker login|podman login|helm registry login|nerdctl login|az login|oc login|cf login|skopeo|twine|evil-winrm|crackmapexec|netexec|hydra|rdesktop|influx|couchbase-cli|sqlcmd|bcp|ncftpput|useradd|usermod",
        r"-[pP]\s",
    ),
    ("ldapsearch|ldapadd|ldapmodify|ldapdelete|ldappasswd|ldapwhoami", r"-w\s"),
    ("zip|unzip|7z|7za|7zz|rar|unrar", r"-(?:P\s?|p|hp)"),
    ("openssl", r"-(?:k|K)\s"),
    ("snmpwalk|snmpget|snmpset|snmpbulkwalk|snmptrap", r"-[AX]\s"),
    ("ipmitool|mosquitto_pub|mosquitto_sub|isql|tsql|impala-shell", r"-(?:P|pw)\s"),
    ("ssh-keygen", r"-[NP]\s"),
    ("plink|pscp|psftp", r"-pw\s"),
    (
        "http|https|xh|xhs|wget|ab|hey|wrk|siege|lftp|nikto|ffuf",
        r"-[aAu]\s[\"']?[^\s:,\"']{1,64}[:,]",
    ),
    ("xfreerdp|wfreerdp|cmdkey|mstsc", r"/(?:p|pass):"),
    ("net user", r"\S{1,64}\s"),
    ("net use", r"/user:\S{1,64}\s"),
    ("rabbitmqctl", r"(?:add_user|change_password)\s\S{1,64}\s"),
    ("wpa_passphrase", r"\S{1,64}\s"),
    (r"sqlplus|sqlldr|expdp|impdp|rman", r"[\w.]{1,32}/"),
    ("smbclient|rpcclient|smbmap|net rpc", r"-U\s?[\"']?[^\s%\"']{1,64}%"),
)
_PROGRAM_FLAGS: Final = "|".join(
    rf"\b(?:{programs})\b(?:\s[^\n|;]{{0,80}}?)??\s{flag}" for programs, flag in _PROGRAMS
)
_PROGRAM_NAMES: Final = "|".join(programs for programs, _ in _PROGRAMS)


COMMANDS: Final = (
    Rule(
        id="command-user",
        kind="password",
        trigger=r"(?:-u|--user|--proxy-user|-U|--userpwd)[ =]?[\"']?[^\s:\"'=]+:",
        pattern=r"(?:^|\s)(?:-u|--user|--proxy-user|-U|--userpwd)[ =]?[\"']?(?P<user>[^\s:\"'=\[(]{1,128}):(?P<secret>[^\s\"']{2,})",
        pick=_command_password,
        matches=("curl -u admin:" + "hunter2" + " https://h.test",),
        misses=("docker run -u 1000:1000 app", "curl -u admin:$PASS https://h.test", "ls -u a:b"),
    ),
    Rule(
        id="command-password",
        kind="password",
        trigger=rf"\b(?:{_PROGRAM_NAMES})\s",
        pattern=rf"(?:{_PROGRAM_FLAGS})[\"']?(?P<secret>[^\s\"'|;]{{3,}})",
        pick=_command_password,
        matches=(
            "sshpass -p " + "hunter2" + " ssh h",
            "mysql -u root -p" + "s3cret9" + " db",
            "unzip -P" + "s3cret9!" + " a.zip",
            "net user bob " + "s3cret9!" + " /add",
            "sqlplus bob/" + "s3cret9!" + "@//h:1521/x",
        ),
        misses=(
            "mysql -u root -p db",
            "sshpass -p $PASS ssh h",
            "redis-cli -h h ping",
            "docker run -p 8080:80 zip -p",
            "openssl rand -hex 32",
            "net user bob /add",
        ),
    ),
    Rule(
        id="file-password",
        kind="password",
        trigger=r"htpasswd|requirepass|pass:|-storepass|-keypass|(?i:identified\s+by)|\S\s*\|\s*(?:sudo -S|docker login|podman login|passwd --stdin|chpasswd)",
        pattern=r"(?:\bhtpasswd\s+-\w*b\w*\s+\S{1,80}\s+\S{1,40}\s|\brequirepass\s|\bpass:|-storepass\s|-keypass\s|"
        r"(?i:\bidentified\s+by\s+(?:password\s+)?[\"']))[\"']?(?P<secret>[^\s\"'|;]{3,})"
        r"|\b(?:echo|printf)\s(?:-n\s)?[\"']?(?:[\w.-]{1,32}:)?(?P<piped>[^\s\"'|]{4,})[\"']?\s*\|\s*(?:sudo -S|(?:docker|podman) login|passwd --stdin|chpasswd)",
        pick=_piped,
        matches=(
            "requirepass " + "s3cret9",
            "CREATE USER bob IDENTIFIED BY '" + "s3cret9" + "'",
            "echo " + "s3cret9" + " | docker login -u bob --password-stdin",
            "echo 'bob:" + "s3cret9" + "' | chpasswd",
        ),
        misses=("requirepass $PASS", "echo $PASS | docker login -u bob --password-stdin", "echo done | sudo -S ls"),
    ),
    Rule(
        id="user-and-password",
        kind="password",
        trigger=r"(?i)auth|@(?:tcp|unix)\(|credentials?|log ?in|creds",
        pattern=r"\b[\w.-]{1,64}:(?P<dsn>[^\s@/]{2,128})@(?:tcp|unix)\("
        r"|(?i:auth|login|credentials?)\s{0,2}[=(:]{1,2}\s{0,2}(?:new )?[\w.]{0,32}\(?\s{0,2}[\"'][^\"'\n]{1,64}[\"']\s{0,2},\s{0,2}[\"'](?P<called>[^\"'\n]{3,128})[\"']\s{0,2}\)"
        r"|(?i:\b(?:log ?in|credentials?|creds|account))\b[^\n/]{0,24}?[\s:][\w.@-]{2,32} / (?P<said>[^\s\"'`]{6,64})",
        pick=_user_and_password,
        matches=(
            "bob:" + "s3cret9" + "@tcp(127.0.0.1:3306)/db",
            "auth=('bob', '" + "s3cret9" + "')",
            '.basicAuth("bob", "' + "s3cret9" + '")',
            "log in with admin / " + "s3cret!9Zq",
        ),
        misses=("auth=('bob', password)", 'login("bob", "password")', "login: bob / see the vault", "credentials in config/database2.yml"),
    ),
    Rule(
        id="word-passphrase",
        kind="secret",
        trigger=r"(?i)pass ?phrase|app(?:lication)?[ _-](?:specific[ _-])?password|2fa|totp|mfa|authenticator",
        pattern=r"(?im:pass ?phrase[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<words>[a-z]{3,12}(?:[ -][a-z]{3,12}){3,9})[\"']?[ \t]*(?:[.,;|\n]|$))"
        r"|(?i:app(?:lication)?[ _-](?:specific[ _-])?password)[^\n]{0,20}?[\s:=\"'](?P<app>[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4})\b"
        r"|(?i:2fa|totp|mfa|authenticator)[^\n]{0,30}?\b(?P<seed>[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15})\b",
        pick=_spaced,
        matches=(
            "passphrase: correct horse " + "battery staple",
            "Gmail app password: abcd efgh " + "ijkl mnop",
            "2FA secret YIMB PC7N YVL4 " + "MTFF II3S",
        ),
        misses=("passphrase: choose one that you can remember", "the app password must have four words"),
    ),
    Rule(
        id="card-code",
        kind="secret",
        trigger=r"(?i)\b(?:cvv|cvc|pin|otp|security code|card code|your)",
        pattern=r"(?i)\b(?:(?:cvv2?|cvc2?|card (?:verification )?code)[\"']?(?: is|\s{0,2}[:=#])?\s{0,2}[\"']?(?P<code>[0-9]{3,4})"
        r"|(?:security code|otp|pin(?: code| number)?)[\"']?(?: is |\s{0,2}[:=]\s{0,2})[\"']?(?P<pin>[0-9]{4,8})"
        r"|(?:pin code|otp) (?P<bare>[0-9]{4,8})"
        r"|your (?:(?:verification|log-?in|sign-?in|security|access|one-time|confirmation|auth|authentication|otp|2fa|sms) ){0,2}(?:code|pin)(?: is|:)\s{1,2}(?P<yours>[0-9]{4,8}))\b",
        pick=_named_group,
        matches=("CVV: " + "737", "PIN=" + "4821", "PIN code " + "905489", "Your code is " + "481902", "security code: " + "4819"),
        misses=("pin: 3.3V", "GPIO pin 17", "PIN entry takes 4 digits", "the cvv is 3 digits long"),
    ),
    Rule(
        id="netrc",
        kind="password",
        trigger=r"login\s+\S+\s+password",
        pattern=r"\blogin\s+\S{1,128}\s+password\s+(?P<secret>\S{2,})",
        pick=_command_password,
        matches=("machine h.test login bob password " + "hunter2",),
        misses=("machine h.test login bob password $PASS", "login or password reset"),
    ),
    Rule(
        id="pgpass",
        kind="password",
        trigger=r":(?:[0-9]{2,5}|\*):[\w*-]+:[\w*-]+:",
        pattern=r"(?m)^[\w.*-]{1,128}:(?:[0-9]{2,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:(?P<secret>\S{3,128})$",
        pick=group_if(is_value),
        matches=("db.test:5432:app:bob:" + "hunter2",),
        misses=("10:14:55:01:02",),
    ),
    Rule(
        id="crypt-hash",
        kind="password",
        trigger=r"\$(?:2[abxy]?|argon2|[156]|apr1|y|pbkdf2|scrypt)",
        pattern=r"\$(?:2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{40,53}|argon2(?:id|i|d)\$[\w=,$+/.-]{20,}|(?:1|5|6|apr1|y|7)\$[\w./=,$]{20,120})",
        pick=whole,
        matches=("bob:$2b$" + "12$" + "k8Jq2Zx9Lm4Tv7Bd1Wc3" * 2 + "k8Jq2Zx9Lm4Tv",),
        misses=("echo $1 $2", "$5.00", "costs $6 and $1"),
    ),
    Rule(
        id="seed-phrase",
        kind="secret",
        trigger="(?i)seed|mnemonic|recovery|助记词|backup phrase|wallet|cụm từ",
        pattern=r"(?i)(?:seed|mnemonic|recovery|backup|wallet|助记词|cụm từ)[^\n]{0,40}?(?:[:=]|is|là|是)[\s\"'\[]{0,8}(?P<secret>[a-z]{3,8}(?:[ ,\"']{1,4}[a-z]{3,8}){11,23})\b",
        pick=_phrase,
        matches=("seed phrase: " + " ".join(["apple", "river", "stone"] * 4),),
        misses=("The seed phrase is written on paper and never leaves the safe.",),
    ),
    Rule(
        id="one-time-codes",
        kind="secret",
        trigger="(?i)recovery code|backup code|otp|one-time|verification code|2fa|mfa code|验证码|動態碼|mã xác (?:minh|thực|nhận)|mã otp",
        pattern=r"(?i)(?:recovery codes?|backup codes?|\botp\b(?: code)?|one-time (?:code|password|passcode)|verification code|\b2fa code|\bmfa code|验证码|動態碼|mã xác (?:minh|thực|nhận)|mã otp)"
        r"[^\S\n]{0,3}[^\n0-9]{0,16}?(?:(?:is|was|are|là|是|为|:|=)[\s\"'-]{0,6}){1,2}(?P<secret>[0-9]{4,8}\b|(?:[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6})*[\s,]{0,3}){1,16})",
        pick=group_if(lambda value: any(character.isdigit() for character in value)),
        matches=("Your verification code is " + "481 902".replace(" ", ""), "recovery codes: " + "a1b2-c3d4" + ", " + "e5f6-g7h8"),
        misses=("The verification code is 6 digits long.", "otp: required"),
    ),
)  # fmt: skip
