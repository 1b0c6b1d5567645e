"""The site's OpenAPI description: its routes with their forms and parameters. It is not served; tests attack the site by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.routing import Route

from merilo.site.author_actions import ORDERS
from merilo.site.item_form import LONGEST_ANSWER, LONGEST_COMMENT
from merilo.site.people_access import LONGEST_ID, PLATFORM_IDS, PREVIEW
from merilo.studies.study_tasks import ANSWER

_TEXT: Final = {"type": "string"}
_LANGUAGE: Final = {"type": "string", "enum": ["ru", "en"]}
_ANSWER: Final[Mapping[str, object]] = {
    "task": {"type": "string", "pattern": "^t[0-9a-f]{11}$"},
    ANSWER: {"type": "array", "items": {"type": "string", "maxLength": LONGEST_ANSWER}},
    "then": {"type": "string", "enum": ["next", "pause", "mine"]},
    "comment": {"type": "string", "maxLength": LONGEST_COMMENT},
}
_NAMES: Final = {"names": _TEXT, "count": {"type": "string", "pattern": "^[0-9]{1,4}$"}, "once": _TEXT}

#: Path of a form -> its fields; every form also has `token`.
FORMS: Final[Mapping[str, Mapping[str, object]]] = {
    "/enter": {"code": {"type": "string", "maxLength": 60}},
    "/s/{key}/language": {"language": _LANGUAGE, "page": _TEXT},
    "/s/{key}/leave": {},
    "/s/{key}/consent": {},
    "/s/{key}/decline": {},
    "/s/{key}/questions": {"age": _TEXT},
    "/s/{key}/declaration": {"declared": _TEXT},
    "/s/{key}/instruction": {},
    "/s/{key}/training": _ANSWER,
    "/s/{key}/task": _ANSWER,
    "/author/{key}/language": {"language": _LANGUAGE},
    "/author/{key}/pause": {},
    "/author/{key}/resume": {},
    "/author/{key}/estimate": {},
    "/author/{key}/invitations": _NAMES,
    "/author/{key}/invitations/revoke": {"invitation": _TEXT},
    "/author/{key}/people/{pseudonym}/exclude": {"reason": _TEXT},
    "/author/{key}/people/{pseudonym}/reinstate": {},
    "/author/{key}/people/{pseudonym}/erase": {"sure": _TEXT},
}

#: Path of a page -> the parameters of its address.
PARAMETERS: Final[Mapping[str, Mapping[str, object]]] = {
    "/s/{key}/": {
        **{name: {"type": "string", "maxLength": LONGEST_ID} for name in (*PLATFORM_IDS, "SESSION_ID", "STUDY_ID")},
        "assignmentId": {"type": "string", "examples": [PREVIEW]},
    },
    "/s/{key}/pause": {"note": _TEXT},
    "/author/{key}/": dict.fromkeys(("person", "invite", "sort", "all", "still"), _TEXT),
}  # fmt: skip


def description(app: Starlette) -> dict[str, Any]:
    """The description of all routes with their forms and parameters."""
    paths: dict[str, dict[str, Any]] = {}
    for route in app.routes:
        assert isinstance(route, Route)
        if route.path == ORDERS:
            continue  # what commands of this computer send, with a secret
        for method in sorted((route.methods or set()) - {"HEAD"}):
            parameters = [
                {"name": name, "in": "path", "required": True, "schema": _TEXT}
                for name in re.findall(r"{(\w+)}", route.path)
            ]
            operation = {"parameters": parameters, "responses": {"200": {"description": "a page"}}}
            if method == "GET":
                parameters += [
                    {"name": name, "in": "query", "required": False, "schema": schema}
                    for name, schema in PARAMETERS.get(route.path, {}).items()
                ]
            elif route.path in FORMS:
                operation["requestBody"] = _form(FORMS[route.path])
            paths.setdefault(route.path, {})[method.lower()] = operation
    return {"openapi": "3.1.0", "info": {"title": "Merilo annotation site", "version": "1"}, "paths": paths}


def _form(fields: Mapping[str, object]) -> dict[str, object]:
    schema = {"type": "object", "properties": {"token": _TEXT, **fields}, "required": ["token"]}
    return {"required": True, "content": {"application/x-www-form-urlencoded": {"schema": schema}}}
