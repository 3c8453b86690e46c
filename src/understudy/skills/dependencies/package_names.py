"""Which package brings a module that is imported by another name."""

from collections.abc import Mapping
from typing import Final

# The longest of these that a dotted name begins with says which package it is from.
PACKAGES: Final[Mapping[str, str]] = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "PyPDF2": "PyPDF2",
    "Xlib": "python-xlib",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cairosvg": "CairoSVG",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "docx2pdf": "docx2pdf",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "github": "PyGithub",
    "gitlab": "python-gitlab",
    "google.ai": "google-ai-generativelanguage",
    "google.api_core": "google-api-core",
    "google.auth": "google-auth",
    "google.genai": "google-genai",
    "google.generativeai": "google-generativeai",
    "google.oauth2": "google-auth",
    "google.protobuf": "protobuf",
    "google_auth_oauthlib": "google-auth-oauthlib",
    "googleapiclient": "google-api-python-client",
    "grpc": "grpcio",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "kubernetes": "kubernetes",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "nacl": "PyNaCl",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pydub": "pydub",
    "pypdfium2": "pypdfium2",
    "pythoncom": "pywin32",
    "pywintypes": "pywin32",
    "rest_framework": "djangorestframework",
    "ruamel": "ruamel.yaml",
    "sentence_transformers": "sentence-transformers",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slack_sdk": "slack-sdk",
    "slugify": "python-slugify",
    "socks": "PySocks",
    "telegram": "python-telegram-bot",
    "tlz": "toolz",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "werkzeug": "Werkzeug",
    "win32api": "pywin32",
    "win32com": "pywin32",
    "xlsxwriter": "XlsxWriter",
    "yaml": "PyYAML",
    "youtube_transcript_api": "youtube-transcript-api",
    "yt_dlp": "yt-dlp",
    "zmq": "pyzmq",
}
# Any of these brings the same module.
ALTERNATIVES: Final[Mapping[str, tuple[str, ...]]] = {
    "faiss-cpu": ("faiss-gpu",),
    "opencv-python": (
        "opencv-python-headless",
        "opencv-contrib-python",
        "opencv-contrib-python-headless",
    ),
    "psycopg2-binary": ("psycopg2",),
    "python-magic": ("python-magic-bin",),
}
# Modules under these come from as many packages as there are names below them.
NAMESPACES: Final = frozenset({"google", "google.cloud", "azure"})
_CLOUD: Final = "google.cloud."


def package_of(module: str) -> str:
    """The package that a dotted module is from."""
    parts = module.split(".")
    for count in range(min(len(parts), 3), 0, -1):
        found = PACKAGES.get(".".join(parts[:count]))
        if found is not None:
            return found
    if module.startswith(_CLOUD):
        return "google-cloud-" + parts[2].replace("_", "-")
    if parts[0] == "azure" and len(parts) > 1:
        return "azure-" + parts[1].replace("_", "-")
    return parts[0]
