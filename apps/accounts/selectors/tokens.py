"""What a token looks like: fp_, thirty random characters, and six that prove them.

The last six are the CRC32 of the ones before, so that a scanner for leaked secrets, and we, can tell
a token from a look-alike without asking a database.
"""

import hashlib
import secrets
import string
import zlib

PREFIX = "fp_"
RANDOM, CHECK = 30, 6  # 178 bits; and 62^6 > 2^32
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def new_text() -> str:
    """Make the text of a token."""
    body = "".join(secrets.choice(_DIGITS) for _ in range(RANDOM))
    return f"{PREFIX}{body}{_check(body)}"


def is_one(text: str) -> bool:
    """Tell a token of ours from anything else, by its form alone."""
    body, check = text[len(PREFIX) : -CHECK], text[-CHECK:]
    return text.startswith(PREFIX) and len(body) >= RANDOM and body.isascii() and check == _check(body)


def digest(text: str) -> bytes:
    """What is kept of a token: enough to find it, nothing to use it with."""
    return hashlib.sha256(text.encode()).digest()


def _check(body: str) -> str:
    left, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECK):
        left, digit = divmod(left, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
