"""The page for an answer that the server could not save: it keeps what the person typed and sends it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from merilo.site.annotation_site import AnnotationSite
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import RefusedRequestError, browser_language, field, wants_json
from merilo.site.site_words import words
from merilo.studies.platform_tasks import ANSWER

#: Statuses of refusals that end: the database cannot write, or the person must wait.
_LATER: Final = frozenset({429, 503})


def unsaved_answer(
    site: AnnotationSite, request: Request, study: ServedStudy, form: Mapping[str, Sequence[str]], error: RefusedRequestError
) -> Response:  # fmt: skip
    """Return a page with the answer and a button that sends it again; the database is not asked for anything.

    Args:
        site: the server process.
        request: the request.
        study: the study.
        form: the sent form.
        error: why it was refused.

    Raises:
        RefusedRequestError: sending it again cannot help, or the site's script keeps the answer.
    """
    if error.status not in _LATER or wants_json(request):
        raise error
    said = words(browser_language(request, study.languages))
    refused = error.word == "not_saved"
    response = site.page(
        request, "unsaved.html.j2", study=study, status=error.status, heading=said["not_saved" if refused else "error"],
        text=said["not_saved_text" if refused else error.word].format(error.seconds), answers=form.get(ANSWER, ()), comment=field(form, "comment"),
        kept=[(name, value) for name, values in form.items() if name != "token" for value in values], to=request.url.path,
    )  # fmt: skip
    if error.seconds is not None:
        response.headers["Retry-After"] = str(error.seconds)
    return response
