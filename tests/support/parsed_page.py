"""The tags of a page, its attributes, and its text."""

from html.parser import HTMLParser


class ParsedPage(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= dict(attrs).keys()

    def handle_data(self, data: str) -> None:
        self.text += data
