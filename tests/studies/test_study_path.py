"""The whole path of a study on the command line, and its pages in a real browser."""

import csv
import io
import re
from pathlib import Path

from browser import opened_browser
from command import merilo
from every import every
from study_people import NAMES, answered, study_of, visits

from merilo.items import Item
from merilo.studies.study_export import export_study
from merilo.studies.study_folder import open_study

PLATFORMS = ["toloka", "abc", "label-studio", "mturk", "csv"]


@every("platform", PLATFORMS)
def test_from_the_plan_over_a_platform_to_the_baseline(platform: str, tmp_path: Path) -> None:
    room = tmp_path / platform
    room.mkdir()
    data, study = room / "lcs.json", room / "study"
    assert (
        merilo("datasets", "generate", "lcs", "--seed", 3, "--size", 40, "--shots", 30, "--out", data).status
        == 0
    )
    created = merilo(
        "study",
        "create",
        data,
        "--dataset",
        "lcs",
        "--out",
        study,
        "--items-per-page",
        1,
        "--pay-per-page",
        0.05,
    )
    assert created.status == 0, created.err
    assert merilo("study", "freeze", study, "--date", "2026-01-12").status == 0
    assert merilo("study", "export", study, "--platform", platform, "--out", room / "out").err == ""
    people = visits(open_study(study), people=30)
    (room / NAMES[platform]).write_text(answered(platform, room / "out", people), "utf-8", newline="")
    assert merilo("study", "import", study, room / NAMES[platform]).status == 0
    status = merilo("study", "status", study, "--json", "-").json
    assert (status["missing"] + status["counted"], status["frozen"]) == (200, True)
    assert status["cost"]["total"] == round(0.05 * len(people), 6)
    made = merilo("study", "baseline", study, "--json", "-")
    assert "differs" not in made.err
    assert made.json["items"]["total"] == 40
    assert made.json["metrics"]["acc"]["n"] == 40
    # The folder of a study with answers is still a valid study.
    assert merilo("study", "validate", study).status == 0


HOSTILE = "</div></crowd-form><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">${prompt_2}"


def test_hostile_text_is_shown_and_not_run_in_a_browser(tmp_path: Path) -> None:
    items = [Item(n, "{text}{topic}", {"text": f"{n}{HOSTILE}", "topic": ""}, "a", {"id": n}) for n in (1, 2)]
    folder = study_of(
        tmp_path / "study", items, [], dataset_name="chegeka", page=2, training=[Item(3, "{text}{topic}", {"text": HOSTILE, "topic": ""}, HOSTILE, {"id": 3})],
        instruction=f"{HOSTILE}\n\n```text\n{HOSTILE}\n```\n",
    )  # fmt: skip
    export_study(folder, "mturk", tmp_path / "out")
    table = next(csv.DictReader(io.StringIO((tmp_path / "out" / "tasks.csv").read_text("utf-8"))))
    layout = (tmp_path / "out" / "layout.html").read_text("utf-8")
    layout = re.sub(r"^<script src=.*</script>\n", "", layout)
    pages = {
        "layout": re.sub(r"\$\{(\w+)\}", lambda found: table[found[1]], layout),
        "training": (tmp_path / "out" / "training.html").read_text("utf-8"),
    }
    with opened_browser() as browser:
        for name, text in pages.items():
            page = browser.new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.set_content(text)
            page.wait_for_load_state()
            assert page.title() != "run", name
            assert not asked, name
            shown = page.inner_text("body")
            assert HOSTILE in shown, name
            if name == "layout":
                assert [page.locator(".prompt").nth(at).inner_text()[:1] for at in (0, 1)] == ["1", "2"]
            page.close()
