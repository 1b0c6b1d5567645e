"""A study with adaptive overlap on the site: who is asked, and what the baseline and its report make of the answers."""

import csv
import io
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import update
from study_people import bundled_study

from merilo.errors import DataError
from merilo.reports.study_baseline import study_baseline
from merilo.reports.study_status import study_status
from merilo.settings import AdaptiveDesign
from merilo.site.annotator_steps import ShownTask, next_task, person_of, save_answer
from merilo.site.collected_figures import collected_figures
from merilo.site.database import database_url, open_database, writing
from merilo.site.people_access import admit_from_platform
from merilo.site.schema import PERSON
from merilo.site.served_study import load_study, register
from merilo.site.serving import collect_site
from merilo.studies.collected import import_files
from merilo.studies.study_export import export_study
from merilo.studies.study_folder import StudyFolder, freeze_plan, open_study
from merilo.studies.study_tasks import study_tasks


def adaptive_study(path: Path, name: str = "bps", **more: object) -> StudyFolder:
    """A frozen study of a bundled dataset with overlap 3 to 5, fixed for a random fifth of the items: two of eight with this seed."""
    folder = bundled_study(path, name, overlap=5, seed=3, **more)
    plan = folder.path / "study.yaml"
    text = plan.read_text(encoding="utf-8").replace(
        "    overlap: 5\n",
        "    overlap: 5\n    adaptive: {start: 3, limit: 5, fixed_share: 0.2}\n    items_per_person: 1000\n",
    )
    plan.write_text(text, encoding="utf-8")
    weights = "".join(f"{one.item.id},all,1\n" for one in folder.items())
    (folder.path / "weights.csv").write_text(f"id,stratum,weight\n{weights}", encoding="utf-8")
    opened = open_study(folder.path)
    freeze_plan(opened, day="2026-01-12", force=True)
    return opened


def everybody_answers(folder: StudyFolder, people: int) -> None:
    """Let people answer in turns until nobody gets another task; the second answer to every item with an even id is wrong."""
    before: Counter[int] = Counter()
    gold = {
        task.id: str(one.item.outputs)
        for task, one in zip(study_tasks(folder).tests, folder.items(), strict=True)
    }
    labels = list(folder.declared().answer.labels)
    engine = open_database(database_url(folder.path, None))
    now = 1_790_000_000_000
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        numbers = [
            admit_from_platform(connection, study, "platform", str(number), "ru", now=now).person
            for number in range(people)
        ]
        connection.execute(update(PERSON).values(stage="working"))
        working = set(numbers)
        while working:
            for number in sorted(working):
                person = person_of(connection, study, number)
                assert person is not None
                shown = next_task(connection, study, person, now)
                if not isinstance(shown, ShownTask):
                    working.discard(number) if shown == "done" else None
                    continue
                task = study.tasks[shown.number]
                true = task.known or gold[task.id]
                wrong = next(label for label in labels if label != true)
                right = task.known is not None or int(task.item) % 2 or before[shown.number] != 1
                before[shown.number] += 1
                save_answer(connection, study, person, shown.number, true if right else wrong, now=now + 2500)
                now += 3000
    engine.dispose()


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyFolder, list[dict[str, str]]]:
    """The study after its collection and import, and the collected rows."""
    path = tmp_path_factory.mktemp("adaptive")
    folder = adaptive_study(path / "study")
    everybody_answers(folder, people=12)
    made = collect_site(folder.path)
    (path / "answers.csv").write_text(made.table, encoding="utf-8")
    import_files(folder, [path / "answers.csv"])
    return folder, list(csv.DictReader(io.StringIO(made.table)))


def test_items_get_more_people_where_they_disagree(
    collected: tuple[StudyFolder, list[dict[str, str]]],
) -> None:
    folder, rows = collected
    tests = {task.id: str(task.item) for task in study_tasks(folder).tests}
    answers: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["task"] in tests:
            answers[tests[row["task"]]].append(row["answer"])
    design = AdaptiveDesign.of("3:5:0.2:3")
    kinds: Counter[int] = Counter()
    for item, given in answers.items():
        fixed = design.overlap.in_fixed_slice(design.seed, item)
        assert len(given) == (5 if fixed or int(item) % 2 == 0 else 3)
        kinds[len(given)] += 1
    assert set(answers) == set(tests.values())
    assert kinds[3]
    assert kinds[5]


def test_the_baseline_uses_the_answers_of_the_design(
    collected: tuple[StudyFolder, list[dict[str, str]]],
) -> None:
    folder, _ = collected
    made = study_baseline(folder)
    content = made.to_dict()
    found = content["adaptive"]
    assert {name: found[name] for name in ("start", "limit", "fixed_share", "seed")} == {
        "start": 3, "limit": 5, "fixed_share": 0.2, "seed": 3,
    }  # fmt: skip
    counts = content["items"]["overlap"]
    items = sum(counts.values())
    total = sum(int(size) * n for size, n in counts.items())
    assert found["answers_per_item"] == pytest.approx(total / items, abs=1e-6)
    assert sum(found["items"].values()) == items
    assert found["answers_by_design"] == 3 * items + 2 * found["items"]["fixed"] < total
    assert content["agreement"]["n"] == found["answers_by_design"]
    single = made.metrics["acc"].single_person
    assert single is not None
    assert single.answers == found["answers_by_design"]
    assert (found["fewer_answers"], found["more_answers"], found["check"]["changed"]) == (0, 0, 0)
    assert not [text for text in content["warnings"] if "adaptive" in text]
    assert made.settings.adaptive == "3:5:0.2:3"
    assert "--adaptive 3:5:0.2:3" in content["provenance"]["command"]


def test_the_dashboard_has_the_agreement_of_the_baseline(
    collected: tuple[StudyFolder, list[dict[str, str]]],
) -> None:
    folder, _ = collected
    engine = open_database(database_url(folder.path, None))
    with writing(engine) as connection:
        study = register(connection, load_study(folder, "people"), 1)
        found = collected_figures(connection, study).agreement
    engine.dispose()
    made = study_baseline(folder)
    assert found.alpha == pytest.approx(made.agreement.krippendorff_alpha)
    assert found.low_agreement == made.details.low_agreement_share


def test_the_report_states_the_design_in_both_languages(
    collected: tuple[StudyFolder, list[dict[str, str]]], tmp_path: Path
) -> None:
    folder, _ = collected
    study_baseline(folder).save(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The overlap was adaptive: 3 people answered an item" in report
    assert "Перекрытие было адаптивным: на вопрос отвечали 3 человека" in report
    responses = pl.read_parquet(tmp_path / "out" / "responses.parquet")
    assert responses.filter("by_design").height < responses.height


def test_platforms_cannot_give_adaptive_overlap(tmp_path: Path) -> None:
    folder = adaptive_study(tmp_path / "study")
    with pytest.raises(DataError, match="adaptive overlap, and platforms give each item to a fixed number"):
        export_study(folder, "toloka", tmp_path / "out")


def test_dialogues_cannot_have_adaptive_overlap(tmp_path: Path) -> None:
    folder = adaptive_study(tmp_path / "study", "rutie")
    with pytest.raises(DataError, match="turns of dialogues"):
        load_study(folder, "people")


def test_the_status_misses_what_the_answers_so_far_ask_for(
    collected: tuple[StudyFolder, list[dict[str, str]]], tmp_path: Path
) -> None:
    folder, rows = collected
    status = study_status(folder)
    tests = {task.id for task in study_tasks(folder).tests}
    assert (status.missing, status.surplus, status.adaptive) == (0, 0, "3:5:0.2:3")
    assert status.planned == status.counted == sum(row["task"] in tests for row in rows)
    begun = study_status(adaptive_study(tmp_path / "study"))
    fixed = sum(AdaptiveDesign.of("3:5:0.2:3").fixed([str(one.item.id) for one in folder.items()]))
    assert begun.planned == 3 * len(tests) + 2 * fixed
    assert begun.missing_by == {3: len(tests) - fixed, 5: fixed}
