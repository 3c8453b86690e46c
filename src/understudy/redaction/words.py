"""The words that announce a secret, and the ones that say it is none."""

from typing import Final

# How the names of secrets end, whatever the case and whatever joins the words.
PASSWORD_ENDINGS: Final = (
    "password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "senha",
    "contrasena", "matkhau", "mima", "pass word",
)  # fmt: skip
SENSITIVE_ENDINGS: Final = (
    *PASSWORD_ENDINGS,
    "secret", "token", "api key", "apikey", "app key", "appkey", "api pass", "private key", "priv key",
    "secret key", "access key", "account key", "signing key", "sign key", "encryption key",
    "crypt key", "hmac key", "master key", "shared key", "shared access key", "subscription key", "license key",
    "service key", "service role key", "storage key", "deploy key", "admin key", "write key", "auth key",
    "session key", "client key", "server key", "integration key", "security key", "secret key base", "cipher key",
    "primary access key", "function key", "host key value", "webhook key", "publish key", "ingest key",
    "restricted key", "live key", "recovery key", "unseal key", "cookie key", "jwt key", "aes key",
    "hmac", "credential", "credentials", "creds", "authorization", "cookie", "auth", "authtoken",
    "jwt", "bearer", "client assertion", "session id", "sessionid", "phpsessid", "jsessionid", "sid", "csrf",
    "xsrf", "otp", "totp", "passkey", "connection string", "pat", "pass", "seed", "mnemonic", "salt",
    "cvv", "cvc", "pepper", "psk", "pre shared key", "signature", "sig", "cred",
    "instrumentation key", "dockerconfigjson", "dockercfg", "pass word",
)  # fmt: skip
# A value under such a name must look random by itself: the words are too common.
FAINT_ENDINGS: Final = (
    "auth", "cookie", "sid", "csrf", "xsrf", "otp", "totp", "jwt", "bearer", "pat", "pass", "seed",
    "mnemonic", "salt", "cvv", "cvc", "pepper", "psk", "signature", "sig", "cred", "creds",
    "credential", "credentials", "hmac", "session id", "sessionid", "connection string", "write key",
    "publish key", "ingest key", "integration key", "license key", "server key", "recovery key",
)  # fmt: skip
# All that stands under such a name is secret, though in running text the words say little.
HOLDERS: Final = ("cookie", "cookies", "credential", "credentials")
# Called a token or a key, but it opens nothing.
HARMLESS_ENDINGS: Final = (
    "page token", "next token", "continuation token", "cancellation token", "sync token",
    "public key", "primary key", "foreign key", "sort key", "partition key", "cache key",
    "idempotency key", "object key", "row key", "hash key", "lookup key", "group key",
    "routing key", "translation key", "i18n key", "publishable key", "range key", "shard key",
    "dedup key", "unique key", "composite key", "join key", "index key", "redis key", "map key",
    "dict key", "json key", "s3 key", "message key", "state key", "pubkey", "site key",
    "no auth", "is auth", "oauth", "bypass", "compass", "trespass", "surpass", "underpass", "overpass",
    "pretoken", "stop token", "eos token", "bos token", "pad token", "unk token", "start token",
    "end token", "special token", "last token", "first token", "cursor token",
)  # fmt: skip
# What may follow the name of a secret without changing what it is.
SUFFIXES: Final = frozenset(
    {
        "prod", "production", "staging", "stage", "dev", "development", "test", "testing", "live",
        "old", "new", "current", "previous", "next", "value", "val", "base", "default", "primary", "secondary",
        "main", "backup", "confirmation", "confirm", "raw", "plain", "plaintext", "b64", "base64", "hex", "str",
        "string", "text", "data", "eu", "us", "uk", "vn", "cn", "v1", "v2", "v3", "sandbox", "local", "ci",
        "admin", "root", "user", "rw", "ro", "read", "write", "readonly", "internal", "override", "temp", "tmp",
    }
)  # fmt: skip
# Sensitive in the query of a URL, too common a word elsewhere: the value must be more than a word.
QUERY_KEYS: Final = frozenset(
    {
        "key", "code", "auth", "xgoogcredential", "sid", "session", "sessionid", "ticket",
        "assertion", "k", "hmac", "pw", "pass", "sas", "magic", "invite", "confirmation",
        "verify", "reset", "hdnts", "jwt", "otp", "authcode", "hash",
    }
)  # fmt: skip
# Sensitive in the query of a URL, whatever the value.
SURE_QUERY_KEYS: Final = frozenset(
    {
        "sig", "signature", "xamzsignature", "xamzcredential", "xamzsecuritytoken", "xgoogsignature",
        "xosssignature", "ossaccesskeyid", "awsaccesskeyid",
    }
)  # fmt: skip
# What people write where a secret would stand.
PLACEHOLDERS: Final = frozenset(
    {
        "none", "null", "nil", "true", "false", "undefined", "string", "str", "bytes", "int",
        "bool", "any", "required", "optional", "empty", "missing", "invalid", "hidden", "masked",
        "redacted", "password", "passwd", "secret", "token", "value", "example", "changeme", "change_me",
        "change-me", "changeit", "todo", "tbd", "fixme", "placeholder", "dummy", "sample", "n/a", "na", "xxx", "text",
        "number", "object", "uuid", "varchar", "char", "unknown", "default", "test", "foobar", "foo", "bar",
        "secretstr", "self", "this", "input", "prompt", "env", "vault", "file", "stdin", "insert_here", "here",
        "mysecret", "mypassword", "mytoken",
    }
)  # fmt: skip
# Words inside a value that show it is no real one.
PLACEHOLDER_WORDS: Final = (
    "your", "example", "placeholder", "changeme", "replace", "insert", "redacted", "dummy", "sample",
    "my-", "my_", "here", "fake", "todo", "xxxx", "****", "....", "put_", "put-", "goes",
)  # fmt: skip
# Nobody's secret, but a secret where a password is expected.
COMMON_PASSWORDS: Final = frozenset(
    {
        "letmein", "qwerty", "iloveyou", "dragon", "sunshine", "monkey", "trustno1", "welcome",
        "hunter", "passw0rd", "p@ssword", "p@ssw0rd", "master", "shadow", "football", "superman",
    }
)  # fmt: skip
# Too common to name a secret, but they announce one to a value that looks random.
LOOSE_CUES: Final = frozenset(
    {
        "key", "keys", "token", "tokens", "secret", "secrets", "password", "passwords", "credential",
        "credentials", "cred", "creds", "auth", "session", "cookie", "pass", "pw", "pin", "apikeys", "k",
    }
)  # fmt: skip
# The same words in running text of other languages; `strong` ones announce a secret by themselves.
CUES_ABROAD: Final = (
    "mật khẩu", "mat khau", "khóa bí mật", "khoá bí mật", "khóa riêng", "khóa api", "khoá api", "khóa truy cập",
    "mã truy cập", "mã bí mật", "mã thông báo", "chuỗi bí mật", "khóa", "khoá", "bí mật", "mã xác thực", "mã token", "thông tin đăng nhập",
    "密码", "密碼", "密钥", "密鑰", "秘钥", "金鑰", "口令", "令牌", "凭证", "凭据", "憑證", "私钥", "私鑰", "暗号", "授权码", "访问码",
    "パスワード", "シークレット", "トークン", "秘密鍵", "認証情報", "APIキー", "キー", "비밀번호", "토큰", "암호", "시크릿",
    "mot de passe", "clé secrète", "clé api", "clef api", "clé", "jeton", "identifiants",
    "contraseña", "clave secreta", "clave api", "clave", "senha", "chave secreta", "chave", "credenciales",
    "passwort", "kennwort", "schlüssel", "geheimnis", "zugangsdaten", "пароль", "секрет", "токен", "ключ", "hasło", "parola", "chiave",
    "wachtwoord", "sleutel", "lösenord", "şifre", "kata sandi", "รหัสผ่าน", "كلمة المرور", "סיסמה", "पासवर्ड",
)  # fmt: skip
PASSWORDS_ABROAD: Final = frozenset(
    {
        "mật khẩu", "mat khau", "密码", "密碼", "口令", "パスワード", "비밀번호", "mot de passe", "暗号", "암호",
        "contraseña", "senha", "passwort", "kennwort", "пароль", "hasło", "parola", "wachtwoord",
        "lösenord", "şifre", "kata sandi", "รหัสผ่าน", "كلمة المرور", "סיסמה", "पासवर्ड",
    }
)  # fmt: skip
# Prefixes of what names things and opens none: objects of services, parts of pages, digests.
OBJECT_PREFIXES: Final = frozenset(
    {
        "msg", "toolu", "call", "chatcmpl", "cmpl", "resp", "run", "thread", "file", "asst", "org", "proj", "user",
        "batch", "req", "step", "session", "trace", "span", "evt", "event", "pi", "pm", "cus", "sub", "price",
        "prod", "ch", "in", "txn", "acct", "seti", "si", "id", "uid", "obj", "doc", "img", "video", "asset",
        "chunk", "index", "main", "vendor", "page", "bundle", "styles", "data", "css", "font", "node", "pod",
        "task", "job", "build", "commit", "ref", "tag", "nonce", "kid", "hash", "etag", "digest", "sha", "sha1",
        "sha224", "sha256", "sha384", "sha512", "md5", "blake2b", "conv", "item", "rs", "fc", "ws", "upload",
        "part", "vs", "ft", "ftjob", "modr", "gen", "src", "card", "client", "request", "correlation", "cache",
        "v1", "v2", "v3", "h1", "dep", "lib", "mod", "module", "component", "view", "layout", "style", "class",
        "icon", "logo", "image", "photo", "media", "static", "public", "pk", "pub", "publishable",
    }
)  # fmt: skip
# Parts of a prefix that say what it stands before.
SECRET_PARTS: Final = frozenset(
    {
        "sk", "key", "apikey", "token", "secret", "pat", "live", "api", "auth", "priv", "private", "signkey", "oat",
        "oauth", "cred", "access", "bot", "svc", "service", "prod", "dev", "staging", "test",
    }
)  # fmt: skip
# Words that sentences have and passphrases do not.
SENTENCE_WORDS: Final = frozenset(
    {
        "a", "an", "the", "is", "are", "was", "be", "been", "to", "of", "in", "on", "at", "by", "for", "with",
        "from", "and", "or", "not", "no", "you", "your", "it", "its", "this", "that", "must", "should", "can",
        "cannot", "may", "will", "if", "when", "then", "than", "as", "use", "using", "have", "has", "one", "only",
        "never", "always", "please", "see", "here", "there",
    }
)  # fmt: skip
