"""What a reader sees of an answer."""

import re
from html.parser import HTMLParser

from django.http import HttpResponse


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def text_of(response: HttpResponse) -> str:
    """The words of a page, in order, with single spaces."""
    assert response.status_code == 200, response.status_code
    reader = _Text()
    reader.feed(response.content.decode())
    return re.sub(r"\s+", " ", " ".join(reader.words)).strip()


def elements_of(response: HttpResponse) -> list[tuple[str, dict[str, str | None]]]:
    """Every element of a page with its attributes, as a browser would build it."""
    found: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Reader(convert_charrefs=True).feed(response.content.decode())
    return found
