"""What a Fencepost worker says to its server: JSON over HTTP, by Python's standard library."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


class Refused(Exception):
    """The server understood and said no."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('code', '')}: {problem.get('detail', '')}")
        self.status, self.code, self.problem = status, str(problem.get("code", "")), problem


class Away(Exception):
    """No answer, or one that says to come again."""


class Api:
    """JSON over HTTP."""

    def __init__(self, url: str, token: str) -> None:
        self.base, self.token = url.rstrip("/") + "/api/v1/", token

    def send(self, method: str, path: str, body: Any = None, *, seconds: float = 15) -> Any:
        """The answer. Raises Refused, or Away when it is not known whether anything happened."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:  # noqa: S310
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            if error.code == 429 or error.code >= 500:
                raise Away(f"{error.code}") from error
            raise Refused(error.code, _json(error.read())) from error
        except (OSError, ValueError) as error:  # urllib's and sockets' errors, and half an answer
            raise Away(str(error)) from error


def _json(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
