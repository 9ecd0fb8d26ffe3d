"""What a worker says of itself when it starts: which code it runs, and what its machine can do."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from apps.errors import BadInput

CAPABILITIES_MAX_BYTES = 8192
VERSION_MAX = 128  # characters, as the column of the session


def version(said: str = "") -> str:
    """What was said, else the version in pyproject.toml. Raises BadInput for one that cannot be kept."""
    said = said or _version_of_project()
    if len(said) > VERSION_MAX or not said.isprintable():
        raise BadInput.at("--code-version", f"It must be printable and have at most {VERSION_MAX} characters.")
    return said


def capabilities() -> dict[str, Any]:
    """What CAPABILITIES says, and what CAPABILITIES_HOOK answers on top. Raises BadInput for what is no catalogue."""
    said = {**_set(), **_hooked()}
    try:
        text = json.dumps(said, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput.at("CAPABILITIES", f"This is not JSON: {error}.") from None
    if "\\u0000" in text:
        raise BadInput.at("CAPABILITIES", "A text in it has a NUL.")
    if size > CAPABILITIES_MAX_BYTES:
        raise BadInput.at("CAPABILITIES", f"It has {size} bytes; the limit is {CAPABILITIES_MAX_BYTES}.")
    return said


def _set() -> dict[str, Any]:
    try:
        said = json.loads(settings.CAPABILITIES or "{}")
    except (ValueError, RecursionError) as error:
        raise BadInput.at("CAPABILITIES", f"This is not JSON: {error}.") from None
    return _object(said, "CAPABILITIES")


def _hooked() -> dict[str, Any]:
    name: str = settings.CAPABILITIES_HOOK
    if not name:
        return {}
    try:
        said = import_string(name)()
    except Exception as error:
        raise BadInput.at("CAPABILITIES_HOOK", f"{name}: {type(error).__name__}: {error}") from error
    return _object(said, "CAPABILITIES_HOOK")


def _object(said: Any, where: str) -> dict[str, Any]:
    if not isinstance(said, Mapping) or not all(isinstance(key, str) for key in said):
        raise BadInput.at(where, "This must be an object, its keys texts.")
    return dict(said)


def _version_of_project() -> str:
    try:
        return str(tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())["project"]["version"])
    except (OSError, KeyError):
        return ""
