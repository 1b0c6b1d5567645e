"""A small browser without JavaScript, with which a simulated person uses the site over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlencode

from merilo.errors import InputError
from merilo.site.simulated_server import TIME_HEADER

#: Pages that one click may lead over.
_MOST_REDIRECTS: Final = 8


@dataclass(frozen=True, slots=True)
class SeenForm:
    """A form of a page.

    Attributes:
        action: the address that it is sent to.
        hidden: its hidden fields.
    """

    action: str
    hidden: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page as the simulation sees it.

    Attributes:
        path: its address.
        form: its form, beside the one that changes the language; `None` without one.
        link: the address of its main link; empty without one.
    """

    path: str
    form: SeenForm | None
    link: str


@dataclass
class SimulatedBrowser:
    """A person's browser: its cookies, and the connection, which several browsers may share.

    Attributes:
        connection: the connection to the server.
        cookies: name -> value.
    """

    connection: HTTPConnection
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, address: str, now: int) -> SeenPage:
        """Open a page.

        Args:
            address: the page's address.
            now: the simulated time, in milliseconds since 1970.

        Raises:
            InputError: the server answers with an error.
        """
        return self._request("GET", address, "", now)

    def send(self, form: SeenForm, values: Mapping[str, str], now: int) -> SeenPage:
        """Send a form with its hidden fields and return the page that follows; arguments as for `get`."""
        return self._request("POST", form.action, urlencode({**form.hidden, **values}), now)

    def _request(self, method: str, address: str, body: str, now: int) -> SeenPage:
        for _ in range(_MOST_REDIRECTS):
            headers = {TIME_HEADER: str(now), "Accept": "text/html", "Accept-Language": "ru"}
            if self.cookies:
                headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            if method == "POST":
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            self.connection.request(method, address, body or None, headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.partition(";")[0]
            if answer.status in {302, 303}:
                method, address, body = "GET", answer.getheader("location", "/"), ""
                continue
            if answer.status != 200:
                raise InputError(
                    f"the site answered a simulated person with the status {answer.status}", file=address
                )
            return _seen(address, text)
        raise InputError("the site sends a simulated person in a circle", file=address)


class _Reader(HTMLParser):
    """Collects the forms and the main link of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), {}))
        elif tag == "input" and given.get("type") == "hidden" and self.forms:
            self.forms[-1][1][given.get("name", "")] = given.get("value", "")
        elif tag == "a" and given.get("class") == "main":
            self.link = given.get("href", "")


def _seen(path: str, text: str) -> SeenPage:
    reader = _Reader()
    reader.feed(text)
    forms = (SeenForm(action, hidden) for action, hidden in reader.forms if not action.endswith("/language"))
    return SeenPage(path.partition("?")[0], next(forms, None), reader.link)
