"""The size limits of a skill."""

from typing import Final

MANIFEST: Final = "SKILL.md"
MAX_MANIFEST_BYTES: Final = 102_400
# All files beside SKILL.md together.
MAX_BUNDLE_BYTES: Final = 20 * 1024 * 1024
# One file of an archive.
MAX_FILE_BYTES: Final = 5 * 1024 * 1024
MAX_FILES: Final = 500
# Depth of folders.
MAX_DEPTH: Final = 10
MAX_PATH_BYTES: Final = 1000
MAX_NAME_BYTES: Final = 255
