"""A marketplace on loopback that speaks the protocol of Mechanical Turk.

Every request and every answer is checked against botocore's description of the service: names, types, patterns and lengths.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from xml.etree import ElementTree

import botocore.session
from botocore.model import Shape
from botocore.validate import ParamValidator

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


class Turk:
    """HITs, assignments, bonuses and qualifications, as the operations change them.

    Attributes:
        lost: operations whose next answer is lost on the way, after they were carried out.
        calls: the operations, in order.
    """

    def __init__(self) -> None:
        self.hits: list[dict[str, Any]] = []
        self.assignments: list[dict[str, Any]] = []
        self.bonuses: list[dict[str, Any]] = []
        self.types: list[dict[str, Any]] = []
        self.kinds: dict[str, dict[str, Any]] = {}
        self.holders: list[tuple[str, str]] = []
        self.balance = "100.00"
        self.lost: set[str] = set()
        self.calls: list[str] = []
        self._tokens: set[str] = set()

    def page(self, hit: dict[str, Any]) -> str:
        """The HTML that a worker sees."""
        content = ElementTree.fromstring(hit["Question"])[0].text
        assert content is not None
        return content

    def submit(self, hit: dict[str, Any], worker: str, answers: dict[str, str], *, whole: bool) -> None:
        """A worker answers a HIT; `whole` sends all answers as one JSON text, as forms of crowd elements do."""
        number = len(self.assignments)
        if whole:
            answers = {"taskAnswers": json.dumps([answers])}
        root = ElementTree.Element("QuestionFormAnswers", xmlns="http://example.org/QuestionFormAnswers.xsd")
        for name, text in answers.items():
            answer = ElementTree.SubElement(root, "Answer")
            ElementTree.SubElement(answer, "QuestionIdentifier").text = name
            ElementTree.SubElement(answer, "FreeText").text = text
        hit["NumberOfAssignmentsAvailable"] -= 1
        self.assignments.append({
            "AssignmentId": f"A{number:05d}", "WorkerId": worker, "HITId": hit["HITId"],
            "AssignmentStatus": "Submitted", "AcceptTime": NOW + timedelta(minutes=number),
            "SubmitTime": NOW + timedelta(minutes=number, seconds=40), "Answer": ElementTree.tostring(root, "unicode"),
        })  # fmt: skip

    def CreateHITType(self, **kind: Any) -> dict[str, Any]:
        self.kinds["TYPE"] = kind
        return {"HITTypeId": "TYPE"}

    def CreateHITWithHITType(
        self, UniqueRequestToken: str, LifetimeInSeconds: int, **hit: Any
    ) -> dict[str, Any]:
        self._once(UniqueRequestToken, "AWS.MechanicalTurk.HITAlreadyExists")
        made = {
            **hit, "HITId": f"H{len(self.hits):05d}", "Reward": self.kinds[hit["HITTypeId"]]["Reward"],
            "Expiration": datetime.now(UTC) + timedelta(seconds=LifetimeInSeconds),
            "NumberOfAssignmentsPending": 0, "NumberOfAssignmentsAvailable": hit["MaxAssignments"],
        }  # fmt: skip
        self.hits.append(made)
        return {"HIT": made}

    def UpdateExpirationForHIT(self, HITId: str, ExpireAt: float) -> dict[str, Any]:
        (hit,) = (one for one in self.hits if one["HITId"] == HITId)
        hit["Expiration"] = datetime.fromtimestamp(ExpireAt, UTC)
        return {}

    def ListHITs(self, NextToken: str = "0", MaxResults: int = 10) -> dict[str, Any]:
        start, end = int(NextToken), int(NextToken) + min(MaxResults, 2)
        more = {"NextToken": str(end)} if end < len(self.hits) else {}
        return {"HITs": self.hits[start:end], **more}

    def ListAssignmentsForHIT(self, HITId: str, MaxResults: int = 10) -> dict[str, Any]:
        return {"Assignments": [one for one in self.assignments if one["HITId"] == HITId]}

    def ApproveAssignment(self, AssignmentId: str) -> dict[str, Any]:
        (one,) = (one for one in self.assignments if one["AssignmentId"] == AssignmentId)
        one["AssignmentStatus"] = "Approved"
        return {}

    def SendBonus(self, UniqueRequestToken: str, **bonus: Any) -> dict[str, Any]:
        self._once(UniqueRequestToken, "AWS.MechanicalTurk.RequestAlreadyMade")
        self.bonuses.append(bonus)
        return {}

    def ListBonusPayments(
        self, HITId: str = "", AssignmentId: str = "", MaxResults: int = 10
    ) -> dict[str, Any]:
        own = {one["AssignmentId"] for one in self.assignments if one["HITId"] == HITId} or {AssignmentId}
        return {"BonusPayments": [one for one in self.bonuses if one["AssignmentId"] in own]}

    def GetAccountBalance(self) -> dict[str, Any]:
        return {"AvailableBalance": self.balance}

    def CreateQualificationType(self, **made: Any) -> dict[str, Any]:
        self.types.append({**made, "QualificationTypeId": f"Q{len(self.types)}"})
        return {"QualificationType": self.types[-1]}

    def ListQualificationTypes(self, Query: str, **_: Any) -> dict[str, Any]:
        return {"QualificationTypes": [one for one in self.types if Query in one["Name"]]}

    def AssociateQualificationWithWorker(
        self, QualificationTypeId: str, WorkerId: str, **_: Any
    ) -> dict[str, Any]:
        self.holders.append((QualificationTypeId, WorkerId))
        return {}

    def _once(self, token: str, code: str) -> None:
        if token in self._tokens:
            raise _RefusedError(code)
        self._tokens.add(token)


class _RefusedError(Exception):
    """A request that the service answers with RequestError."""


_SERVICE = botocore.session.get_session().get_service_model("mturk")


def _check(value: object, shape: Shape) -> None:
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()
    _check_texts(value, shape)


def _check_texts(value: Any, shape: Any) -> None:
    """The patterns and lengths of texts, which botocore does not check."""
    if shape.type_name == "structure":
        for name, one in value.items():
            _check_texts(one, shape.members[name])
    elif shape.type_name == "list":
        for one in value:
            _check_texts(one, shape.member)
    elif shape.type_name == "string":
        assert re.search(shape.metadata.get("pattern", ""), value), (shape.name, value)
        assert len(value) <= shape.metadata.get("max", 65_535), (shape.name, value)
        assert value in (shape.enum or [value]), (shape.name, value)


@contextmanager
def turk_server() -> Iterator[tuple[Turk, str]]:
    """Serve a new marketplace; yields it and its address."""
    turk = Turk()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            name = self.headers["X-Amz-Target"].rpartition(".")[2]
            values = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turk.calls.append(name)
            operation = _SERVICE.operation_model(name)
            status = 200
            try:
                _check(values, operation.input_shape)
                answer = getattr(turk, name)(**values)
                _check(answer, operation.output_shape)
            except _RefusedError as refused:
                status, answer = (
                    400,
                    {"__type": "RequestError", "Message": str(refused), "TurkErrorCode": str(refused)},
                )
            except Exception as fault:
                status, answer = (
                    400,
                    {"__type": "RequestError", "Message": f"{type(fault).__name__}: {fault}"},
                )
            if name in turk.lost:
                turk.lost.remove(name)
                self.close_connection = True
                return
            body = json.dumps(answer, default=datetime.timestamp).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield turk, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
