"""A server on a real socket that answers as models do, or as they should not."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def said(text: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


class Model:
    """Answers each call alike, and remembers what it was asked."""

    def __init__(self) -> None:
        self.status, self.body = 200, said("Mail fails.")
        self.headers: dict[str, str] = {}
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.url = ""
        self.is_slow = False
        self.before = threading.Event()  # what a slow one waits for

    @property
    def block(self) -> str:
        """What the last call was about: what stands between the marks, which are there once each."""
        system, user = self.asked[-1]["messages"]
        assert (system["role"], user["role"]) == ("system", "user")
        begin, text, end = user["content"].split("\n")
        assert (begin, end) == ("<failures>", "</failures>")
        return str(text)


class Handler(BaseHTTPRequestHandler):
    model: Model

    def do_POST(self) -> None:
        model = self.model
        model.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        model.keys.append(self.headers["Authorization"])
        model.paths.append(self.path)
        if model.is_slow:
            model.before.wait(30)
        with suppress(OSError):  # nobody waits any more
            self.answer()

    def answer(self) -> None:
        self.send_response(self.model.status)
        for name, value in self.model.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.model.body)))
        self.end_headers()
        self.wfile.write(self.model.body)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Model]:
    model = Model()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"model": model}))
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.before.set()
        server.shutdown()
        server.server_close()
        thread.join()
