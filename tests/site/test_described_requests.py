"""The site's OpenAPI description names every route and form; it is not served."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from described_requests import FORMS, PARAMETERS, description
from site_in_process import opened_site
from starlette.applications import Starlette
from starlette.testclient import TestClient

import merilo.site
from merilo.site.app import make_app
from merilo.studies.study_folder import StudyFolder

SOURCES = sorted(Path(merilo.site.__file__).parent.glob("*.py"))


@pytest.fixture
def app(frozen: Callable[..., StudyFolder]) -> Starlette:
    with opened_site(frozen()) as site:
        return make_app(site)


def test_every_form_and_parameter_of_the_description_has_a_route_and_every_form_is_described(
    app: Starlette,
) -> None:
    paths = description(app)["paths"]
    posted = {path for path, operations in paths.items() if "post" in operations}
    assert posted == set(FORMS)
    assert set(PARAMETERS) <= {path for path, operations in paths.items() if "get" in operations}
    assert paths["/s/{key}/task"]["post"]["requestBody"]["content"].keys() == {
        "application/x-www-form-urlencoded"
    }


def test_every_field_that_the_site_reads_is_described() -> None:
    source = "".join(path.read_text("utf-8") for path in SOURCES)
    fields = set(re.findall(r'field\((?:form|kept), "(\w+)"\)', source))
    assert len(fields) > 8
    assert fields <= {name for fields in FORMS.values() for name in fields} | {"token"}
    got = re.findall(r'(?:query_params|asked|parameters)(?:\.get\(|\[)"(\w+)"', source)
    parameters = {*got, *re.findall(r'"(\w+)" in (?:asked|request\.query_params)', source)}
    assert len(parameters) > 5
    assert parameters <= {name for names in PARAMETERS.values() for name in names}


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/redoc"])
def test_the_description_is_not_served(app: Starlette, path: str) -> None:
    assert TestClient(app).get(path).status_code == 404
