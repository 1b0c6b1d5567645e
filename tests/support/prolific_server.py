"""Prolific on loopback: the documented requests of its API, and nothing else.

A request with another path, method, header, key or type than https://docs.prolific.com/api-reference has is refused, as the service
refuses it. Bonuses are paid later, and a payment that is asked for twice is paid twice.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "token-of-the-test"

#: Keys of a new study: those that it needs, and all.
NEEDED = {
    "name": str, "description": str, "external_study_url": str, "prolific_id_option": str, "completion_codes": list,
    "total_available_places": int, "estimated_completion_time": int, "reward": int,
}  # fmt: skip
KNOWN = {**NEEDED, "internal_name": str, "device_compatibility": list, "filters": list, "project": str}

TYPES = {
    "COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE", "NO_CONSENT", "OTHER",
    "FIXED_SCREENOUT",
}  # fmt: skip
#: Action of a completion code -> the keys that it needs.
ACTIONS = {
    "AUTOMATICALLY_APPROVE": set(),
    "MANUALLY_REVIEW": set(),
    "REQUEST_RETURN": {"return_reason"},
    "FIXED_SCREEN_OUT_PAYMENT": {"fixed_screen_out_reward", "slots"},
}


class Refused(Exception):
    """A request that the service refuses."""

    def __init__(self, detail: object, status: int = 400) -> None:
        super().__init__(detail)
        self.detail, self.status = detail, status


def check(fine: object, detail: object, status: int = 400) -> None:
    if not fine:
        raise Refused(detail, status)


@dataclass
class Prolific:
    """The service: studies, submissions and payments, as requests and people change them.

    Attributes:
        currency: of the account.
        lost: ends of paths whose next answer is lost on the way, after the request was carried out.
        refused: ends of paths whose next request is refused.
        calls: method and path of each request that was carried out.
    """

    currency: str = "USD"
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    payments: dict[str, dict[str, int]] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def send(self, study: str, participant: str) -> str:
        """A person takes a place: the address that they are sent to."""
        made = self.studies[study]
        assert made["status"] == "ACTIVE"
        session = f"{len(self.submissions):024x}"
        self.submissions[session] = {
            "id": session, "participant_id": participant, "status": "ACTIVE", "study": study, "study_code": None,
            "started_at": f"2026-01-12T10:{len(self.submissions):02}:00Z", "completed_at": None, "bonus_payments": [],
        }  # fmt: skip
        address = made["external_study_url"]
        ids = {"PROLIFIC_PID": participant, "STUDY_ID": study, "SESSION_ID": session}
        for name, value in ids.items():
            assert address.count(f"{{{{%{name}%}}}}") == 1
            address = address.replace(f"{{{{%{name}%}}}}", value)
        return address

    def of(self, participant: str) -> dict[str, Any]:
        """The latest submission of a person."""
        return [one for one in self.submissions.values() if one["participant_id"] == participant][-1]

    def hand_in(self, participant: str, address: str) -> None:
        """A person comes back by the address with the completion code: the code's action happens."""
        base, _, code = address.partition("?cc=")
        assert base == "https://app.prolific.com/submissions/complete"
        visit = self.of(participant)
        (found,) = [one for one in self.studies[visit["study"]]["completion_codes"] if one["code"] == code]
        screened = found["actions"][0]["action"] == "FIXED_SCREEN_OUT_PAYMENT"
        visit.update(study_code=code, status="SCREENED OUT" if screened else "AWAITING REVIEW")

    def settle(self) -> None:
        """Time passes, and the bonuses that were asked for are paid."""
        for payment in self.queue:
            for session, cents in self.payments[payment].items():
                self.submissions[session]["bonus_payments"].append(cents)
        self.queue.clear()

    def bonuses(self) -> dict[str, int]:
        """Person -> the sum of their bonuses in cents."""
        return {
            one["participant_id"]: sum(one["bonus_payments"])
            for one in self.submissions.values()
            if one["bonus_payments"]
        }

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        """Carry out a request: the status and the content of the answer."""
        for end in [one for one in self.refused if path.endswith(one)]:
            self.refused.discard(end)
            raise Refused("not enough money")
        for pattern, run in (
            ("POST studies/", self._create),
            ("GET studies/([^/]+)/", self._study),
            ("POST studies/([^/]+)/transition/", self._transition),
            ("GET studies/([^/]+)/submissions/", self._submissions),
            ("GET submissions/([^/]+)/", self._submission),
            ("POST submissions/bulk-approve/", self._approve),
            ("POST submissions/bonus-payments/", self._set_up),
            ("POST bulk-bonus-payments/([^/]+)/pay/", self._pay),
        ):
            if found := re.fullmatch(pattern, f"{method} {path}"):
                return run(*found.groups(), query=query, body=body)
        raise Refused("Not found.", 404)

    def _create(self, *, query: Any, body: Any) -> tuple[int, Any]:
        check(not set(body) - set(KNOWN), {one: ["unknown field"] for one in set(body) - set(KNOWN)})
        check(
            not set(NEEDED) - set(body), {one: ["This field is required."] for one in set(NEEDED) - set(body)}
        )
        for name, value in body.items():
            check(type(value) is KNOWN[name], {name: ["wrong type"]})
        check(
            urlsplit(body["external_study_url"]).scheme in {"http", "https"},
            {"external_study_url": ["not a URL"]},
        )
        check(
            body["prolific_id_option"] in {"question", "url_parameters", "not_required"}, "prolific_id_option"
        )
        check(
            body["reward"] >= 10 and body["total_available_places"] >= 1, {"reward": ["Reward is too low."]}
        )
        check(
            set(body.get("device_compatibility", ())) <= {"desktop", "tablet", "mobile"},
            "device_compatibility",
        )
        codes = body["completion_codes"]
        check(
            codes and len({one["code"] for one in codes}) == len(codes),
            {"completion_codes": ["must be unique"]},
        )
        for code in codes:
            check(
                set(code) == {"code", "code_type", "actions", "actor"},
                {"completion_codes": ["unknown field"]},
            )
            check(
                code["code_type"] in TYPES and code["actor"] in {"participant", "researcher"},
                "completion_codes",
            )
            (action,) = code["actions"]
            check({*action} - {"action"} == ACTIONS[action["action"]], {"completion_codes": ["actions"]})
            check(action.get("fixed_screen_out_reward", 0) < body["reward"], "screen-out reward")
        check(sum("slots" in one["actions"][0] for one in codes) <= 1, "only one screen-out code")
        study = f"5f{len(self.studies):022x}"
        made = {**body, "id": study, "status": "UNPUBLISHED", "presentment_currency_code": self.currency}
        self.studies[study] = made
        return 201, made

    def _study(self, study: str, **_: Any) -> tuple[int, Any]:
        if study not in self.studies:
            raise Refused("Not found.", 404)
        return 200, self.studies[study]

    def _transition(self, study: str, *, query: Any, body: Any) -> tuple[int, Any]:
        check(body == {"action": "PUBLISH"}, {"action": ["unknown"]})
        made = self._study(study)[1]
        check(made["status"] == "UNPUBLISHED", "The study is published already.")
        made["status"] = "ACTIVE"
        return 200, {"id": study, "status": "PUBLISHING"}

    def _submissions(self, study: str, *, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        check(set(query) <= {"limit", "offset"}, "unknown parameter")
        limit, offset = (
            int(query.get(name, [default])[0]) for name, default in (("limit", "20"), ("offset", "0"))
        )
        rows = [one for one in self.submissions.values() if one["study"] == study]
        hidden = {"study", "bonus_payments"}
        page = [{key: text for key, text in one.items() if key not in hidden} for one in rows]
        # Pages are shorter than asked for.
        return 200, {"results": page[offset : offset + min(limit, 5)], "meta": {"count": len(rows)}}

    def _submission(self, session: str, **_: Any) -> tuple[int, Any]:
        if session not in self.submissions:
            raise Refused("Not found.", 404)
        one = self.submissions[session]
        return 200, {
            "id": session, "status": one["status"], "study_id": one["study"], "participant": one["participant_id"],
            "entered_code": one["study_code"], "bonus_payments": one["bonus_payments"],
        }  # fmt: skip

    def _approve(self, *, query: Any, body: Any) -> tuple[int, Any]:
        check(set(body) == {"submission_ids"} and 0 < len(body["submission_ids"]) <= 1000, "submission_ids")
        for session in body["submission_ids"]:
            check(session in self.submissions, {"submission_ids": [f"unknown: {session}"]})
            check(self.submissions[session]["status"] == "AWAITING REVIEW", "not awaiting review")
        for session in body["submission_ids"]:
            self.submissions[session]["status"] = "APPROVED"
        return 200, "The request to bulk approve has been made successfully."

    def _set_up(self, *, query: Any, body: Any) -> tuple[int, Any]:
        check(set(body) == {"study_id", "csv_bonuses"}, "study_id, csv_bonuses")
        cents = {}
        for row in body["csv_bonuses"].split("\n"):
            found = re.fullmatch(r"([0-9a-f]{24}),(\d+\.\d\d)", row)
            check(found, {"csv_bonuses": [f"wrong row: {row}"]})
            assert found is not None
            took_part = self.submissions.get(found[1], {}).get("study") == body["study_id"]
            check(took_part and found[1] not in cents, {"csv_bonuses": [f"wrong id: {found[1]}"]})
            cents[found[1]] = round(100 * float(found[2]))
            check(cents[found[1]] > 0, {"csv_bonuses": ["the amount must be above 0"]})
        check(len(cents) <= 200, "at most 200 people")
        payment = f"{0xB0 + len(self.payments):024x}"
        self.payments[payment] = cents
        amount = sum(cents.values())
        return 201, {
            "id": payment, "study": body["study_id"], "amount": amount, "fees": amount / 3, "vat": 0,
            "total_amount": amount + amount / 3,
        }  # fmt: skip

    def _pay(self, payment: str, **_: Any) -> tuple[int, Any]:
        if payment not in self.payments:
            raise Refused("Not found.", 404)
        self.queue.append(payment)
        return 202, f"Bulk bonus payment with ID {payment} is being processed asynchronously."


@contextmanager
def prolific_server() -> Iterator[tuple[Prolific, str]]:
    """The service, and its address."""
    service = Prolific()

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def do_GET(self) -> None:
            self._answered("GET")

        def do_POST(self) -> None:
            self._answered("POST")

        def _answered(self, method: str) -> None:
            parts = urlsplit(self.path)
            path = parts.path.removeprefix("/api/v1/")
            sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            try:
                known = self.headers.get("Authorization") == f"Token {TOKEN}" and path != parts.path
                check(known, "Authentication credentials were not provided.", 401)
                check(not sent or self.headers.get("Content-Type") == "application/json", "Content-Type")
                check((method == "POST") == bool(sent), "a body")
                body = json.loads(sent) if sent else None
                status, content = service.answer(method, path, parse_qs(parts.query), body)
                service.calls.append(f"{method} {path}")
            except Refused as error:
                status = error.status
                content = {"error": {"status": status, "title": "Error", "detail": error.detail}}
            for end in [one for one in service.lost if path.endswith(one)]:
                service.lost.discard(end)
                self.close_connection = True
                return
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield service, f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
