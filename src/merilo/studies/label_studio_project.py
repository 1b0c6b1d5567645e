"""A study as a project of a Label Studio server, through its SDK: made by `push`, its annotations imported by `pull`.

The project names the study in its description. Importing the SDK needs the extra `label-studio`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from merilo.errors import BackendError, DataError, MissingPartError, UsageError
from merilo.strict_json import indented
from merilo.studies.collected import ImportedStudy, import_text
from merilo.studies.platform_tasks import (
    Outgoing,
    instruction_body,
    label_studio_labels,
    label_studio_tasks,
)
from merilo.studies.study_export import arm_of, outgoing_study
from merilo.studies.study_folder import StudyFolder, refuse_changed

#: The environment variable with the access token of a user; the SDK's own.
TOKEN: Final = "LABEL_STUDIO_API_KEY"  # noqa: S105 - its name

#: Seconds for one request: importing tens of thousands of tasks takes minutes.
_PATIENCE: Final = 600
#: The lengths of a project's title that Label Studio takes.
_TITLE: Final = (3, 50)


@dataclass(frozen=True, slots=True)
class PushedProject:
    """A project of a Label Studio server.

    Attributes:
        project: its number.
        address: its page.
        tasks: its tasks.
        overlap: annotations for each task.
        made: whether this call made it.
    """

    project: int
    address: str
    tasks: int
    overlap: int
    made: bool


def push_project(
    folder: StudyFolder,
    url: str,
    *,
    arm: str | None = None,
    language: str | None = None,
    media_url: str = "",
) -> PushedProject:
    """Make a project with the tasks of a frozen study, unless the server has it already.

    Args:
        folder: the study.
        url: the address of the server.
        arm: the group of annotators; `people` by default.
        language: the language of the instruction; by default, the first of the plan.
        media_url: the address of the folder `samples/`.

    Raises:
        MissingPartError: the extra `label-studio` is not installed.
        UsageError: the environment has no token, or the plan has no such arm or language.
        InputError: the plan is not frozen.
        DataError: the plan was changed after the freeze, or the project has other tasks.
        BackendError: the server cannot be reached or refuses a request.
    """
    refuse_changed(folder)
    outgoing, overlap = _outgoing(folder, arm, language=language, media_url=media_url)
    tasks = label_studio_tasks(outgoing)
    with _server(url) as client:
        project = _project(client, outgoing.study)
        made = project is None
        if project is None:
            least, most = _TITLE
            project = client.projects.create(
                title=outgoing.title[:most].ljust(least, "."),
                description=outgoing.study,
                label_config=label_studio_labels(outgoing),
                maximum_annotations=overlap,
                expert_instruction=instruction_body(outgoing),
                show_instruction=True,
            )
        if not client.projects.get(id=project.id).task_number:
            client.projects.import_tasks(id=project.id, request=tasks)
        there = client.projects.get(id=project.id).task_number
    if there != len(tasks):
        raise DataError(
            f"the project {project.id} has {there} tasks, and the study {len(tasks)}: if the server is still importing "
            "them, repeat the command later; otherwise delete the project and push the study again"
        )
    return PushedProject(project.id, f"{url.rstrip('/')}/projects/{project.id}", there, overlap, made)


def pull_project(folder: StudyFolder, url: str, *, arm: str | None = None) -> ImportedStudy:
    """Import the annotations of a study's project, with their annotators and times.

    Raises:
        MissingPartError: the extra `label-studio` is not installed.
        UsageError: the environment has no token, or the plan has no such arm.
        InputError: no task has an annotation.
        DataError: the server has no project of the study.
        BackendError: the server cannot be reached or refuses a request.
    """
    outgoing, _ = _outgoing(folder, arm)
    with _server(url) as client:
        project = _project(client, outgoing.study)
        if project is None:
            raise DataError(f"{url} has no project of this study: push it first")
        exported = client.projects.exports.as_json(project.id, timeout=_PATIENCE)
    return import_text(folder, indented(exported) + "\n", f"label-studio-{project.id}.json")


def _outgoing(
    folder: StudyFolder, arm: str | None, *, language: str | None = None, media_url: str = ""
) -> tuple[Outgoing, int]:
    """The tasks of a group of annotators, and how many annotations each of them gets."""
    name, group = arm_of(folder, arm)
    outgoing = outgoing_study(folder, "label-studio", name, language=language, media_url=media_url)
    return outgoing, group.overlap


def _project(client: Any, study: str) -> Any | None:  # noqa: ANN401 - the SDK's
    """The project whose description names the study; `None` without one."""
    return next((one for one in client.projects.list() if study in (one.description or "")), None)


@contextmanager
def _server(url: str) -> Iterator[Any]:
    """A client of the server; the SDK's errors, which hold whole pages and cookies, become one sentence."""
    try:
        from httpx import Client, HTTPError  # noqa: PLC0415 - comes with the SDK
        from label_studio_sdk import LabelStudio  # noqa: PLC0415 - the extra label-studio, seconds to load
        from label_studio_sdk.core.api_error import ApiError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingPartError(
            "Label Studio needs the extra 'label-studio': pip install 'merilo[label-studio]'"
        ) from None
    token = os.environ.get(TOKEN)
    if not token:
        raise UsageError(
            f"the environment variable {TOKEN} must hold the access token of a user of Label Studio"
        )
    try:
        with Client(timeout=_PATIENCE, follow_redirects=True) as connection:
            yield LabelStudio(base_url=url, api_key=token, timeout=_PATIENCE, httpx_client=connection)
    except HTTPError as error:
        raise BackendError(f"{url}: {error}") from error
    except ApiError as error:
        body = error.body if isinstance(error.body, dict) else {}
        told = body.get("validation_errors") or body.get("detail") or "no reason given"
        raise BackendError(f"{url} refused the request (status {error.status_code}): {told}") from error
