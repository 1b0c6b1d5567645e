"""Prolific's API: the requests that a study needs, as https://docs.prolific.com/api-reference documents them.

Amounts are whole cents (or pence), except in the table of bonuses, where Prolific takes units with two digits.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from merilo.errors import BackendError, InputError, UsageError
from merilo.site.visitor_limits import is_here
from merilo.strict_json import Json, Row, at, dict_at, dicts_at, list_at, parse_json, text_at
from merilo.wording import shortened

#: The environment variables with the token, and with another server's address, for tests.
TOKEN_VARIABLE: Final = "PROLIFIC_TOKEN"  # noqa: S105 - its name
ADDRESS_VARIABLE: Final = "PROLIFIC_URL"

ADDRESS: Final = "https://api.prolific.com"

#: Seconds to wait for an answer, and the most bytes of one.
_PATIENCE: Final = 60.0
_LARGEST: Final = 50_000_000

#: Submissions of one page, approvals of one request, and people of one payment.
_PAGE: Final = 200
_APPROVALS: Final = 1000
PAID_AT_ONCE: Final = 200


class PanelRefusalError(BackendError):
    """The panel refused a request, so that nothing was done."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One person's visit as Prolific knows it.

    Attributes:
        id: its id, the session of the person here.
        participant: the person's id.
        status: in capitals and with spaces, such as AWAITING REVIEW or TIMED OUT.
        code: the completion code that was handed in; an empty text without one.
        started: when it began, as text that sorts.
    """

    id: str
    participant: str
    status: str
    code: str
    started: str


@dataclass(frozen=True, slots=True)
class PanelStudy:
    """A study on Prolific.

    Attributes:
        id: its id.
        status: such as UNPUBLISHED, ACTIVE or COMPLETED.
        reward: what an approved submission is paid, in cents.
        places: for how many people it is.
        currency: the code of the currency; an empty text if Prolific does not tell it.
        screening: the fixed pay of whom a completion code screens out, in cents; 0 without one.
        address: where it sends people.
    """

    id: str
    status: str
    reward: int
    places: int
    currency: str
    screening: int
    address: str


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the token must not reach another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - the base class's parameters
        return None


@dataclass(frozen=True, slots=True)
class ProlificApi:
    """A researcher's account on Prolific.

    Attributes:
        token: the token.
        address: the server.
    """

    token: str
    address: str = ADDRESS

    @classmethod
    def from_environment(cls) -> ProlificApi:
        """Return the account whose token is in the environment.

        Raises:
            UsageError: there is no token, or the other server's address would send it without encryption.
        """
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise UsageError(
                f"there is no token of Prolific: put it into the environment variable {TOKEN_VARIABLE} (Settings, "
                "API tokens, on Prolific)"
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise UsageError(f"the environment variable {TOKEN_VARIABLE} holds no token of Prolific")
        address = os.environ.get(ADDRESS_VARIABLE, "").strip().rstrip("/") or ADDRESS
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_here(parts.hostname or "")):
            raise UsageError(f"the environment variable {ADDRESS_VARIABLE} must be an address with https://")
        return cls(token, address)

    def create(self, study: Mapping[str, Json]) -> PanelStudy:
        """Create a draft, which nobody sees and which costs nothing."""
        return _study(self._ask("POST", "studies/", study))

    def publish(self, study: str) -> PanelStudy:
        """Publish a draft: Prolific reserves the money and invites people."""
        return _study(self._ask("POST", f"studies/{quote(study, '')}/transition/", {"action": "PUBLISH"}))

    def study(self, study: str) -> PanelStudy:
        """Read a study."""
        return _study(self._ask("GET", f"studies/{quote(study, '')}/"))

    def submissions(self, study: str) -> list[Submission]:
        """Read all submissions of a study."""
        found: dict[str, Submission] = {}
        while True:
            path = f"studies/{quote(study, '')}/submissions/?limit={_PAGE}&offset={len(found)}"
            page, before = self._ask("GET", path), len(found)
            found.update((one.id, one) for one in map(_submission, dicts_at(page, "results")))
            # A page may be shorter than asked for.
            if len(found) in {before, at(page, "meta", "count")}:
                return [*found.values()]

    def paid_bonus(self, submission: str) -> int:
        """Return the sum of the bonuses that a submission was paid, in cents."""
        paid = list_at(self._ask("GET", f"submissions/{quote(submission, '')}/"), "bonus_payments")
        return round(sum(one for one in paid if isinstance(one, int | float)))

    def approve(self, submissions: Sequence[str]) -> None:
        """Approve submissions, which pays their reward. An approval is a state: nobody is paid twice."""
        for first in range(0, len(submissions), _APPROVALS):
            part: list[Json] = [*submissions[first : first + _APPROVALS]]
            self._ask("POST", "submissions/bulk-approve/", {"submission_ids": part})

    def set_up_bonuses(self, study: str, cents: Mapping[str, int]) -> tuple[str, int]:
        """Set up a payment of bonuses without paying it.

        Args:
            study: the study.
            cents: submission -> its bonus; at most `PAID_AT_ONCE`.

        Returns:
            The payment's id, and its cost with the fees, in cents.
        """
        rows = "\n".join(f"{one},{bonus / 100:.2f}" for one, bonus in cents.items())
        made = self._ask("POST", "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": rows})
        payment = text_at(made, "id")
        if not payment:
            raise BackendError("Prolific's answer has no id of the payment, so nothing was paid")
        return payment, round(_number(made, "total_amount"))

    def pay_bonuses(self, payment: str) -> None:
        """Pay a payment that was set up. Never call this twice: Prolific would pay twice.

        Raises:
            PanelRefusalError: Prolific refused; nothing was paid.
            BackendError: whether Prolific pays is not known.
        """
        self._ask("POST", f"bulk-bonus-payments/{quote(payment, '')}/pay/", {})

    def _ask(self, method: str, path: str, body: Mapping[str, Json] | None = None) -> dict[str, Json]:
        headers = {"Authorization": f"Token {self.token}", "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = Request(f"{self.address}/api/v1/{path}", data, headers, method=method)  # noqa: S310 - https, or here
        try:
            with build_opener(_NoRedirects).open(request, timeout=_PATIENCE) as response:
                text = response.read(_LARGEST).decode()
        except HTTPError as error:
            raise _refusal(error, method, path) from None
        except (OSError, HTTPException, UnicodeDecodeError) as error:
            reason = getattr(error, "reason", error)
            raise BackendError(f"Prolific does not answer at {self.address} ({reason})") from None
        try:
            return dict_at(parse_json(text, file=path)) if text.strip() else {}
        except InputError as error:
            raise BackendError(f"Prolific's answer cannot be read ({error.marked})") from None


def _refusal(error: HTTPError, method: str, path: str) -> BackendError:
    """Say in one sentence why Prolific refused a request."""
    if error.code in {401, 403}:
        return PanelRefusalError(f"Prolific does not accept the token in {TOKEN_VARIABLE} for this request")
    if error.code == 429:
        return PanelRefusalError("Prolific got too many requests: wait a minute and try again")
    try:
        told = parse_json(error.read(_LARGEST).decode(), file=path)
    except (OSError, HTTPException, UnicodeDecodeError, InputError):
        told = None
    words = [*_words(at(told, "error", "detail") or at(told, "detail") or at(told, "error"))]
    why = f": {shortened('; '.join(words), 300)}" if words else ""
    asked = f"{method} {path.partition('?')[0]}"
    if error.code < 500:
        return PanelRefusalError(f"Prolific refused {asked} (status {error.code}){why}")
    return BackendError(f"Prolific failed at {asked} (status {error.code}){why}")


def _words(detail: Json, field: str = "") -> list[str]:
    """Flatten the detail of an error: a text, a list of them, or fields with their faults."""
    if isinstance(detail, dict):
        return [text for name, inner in detail.items() for text in _words(inner, f"{field}{name}: ")]
    if isinstance(detail, list):
        return [text for inner in detail for text in _words(inner, field)]
    return [] if detail is None else [f"{field}{detail}"]


def _study(row: Row) -> PanelStudy:
    actions = [one for code in dicts_at(row, "completion_codes") for one in dicts_at(code, "actions")]
    return PanelStudy(
        text_at(row, "id"),
        _status(row),
        round(_number(row, "reward")),
        round(_number(row, "total_available_places")),
        text_at(row, "presentment_currency_code") or text_at(row, "currency_code"),
        round(max((_number(one, "fixed_screen_out_reward") for one in actions), default=0)),
        text_at(row, "external_study_url"),
    )


def _submission(row: Row) -> Submission:
    return Submission(
        text_at(row, "id"),
        text_at(row, "participant_id"),
        _status(row),
        text_at(row, "study_code"),
        text_at(row, "started_at"),
    )


def _status(row: Row) -> str:
    """Return a status in one spelling: the documentation has AWAITING REVIEW, AWAITING_REVIEW and TIMED-OUT."""
    return text_at(row, "status").upper().replace("_", " ").replace("-", " ")


def _number(row: Row, name: str) -> float:
    value = at(row, name)
    return float(value) if isinstance(value, int | float) else 0.0
