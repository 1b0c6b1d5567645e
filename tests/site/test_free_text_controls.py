"""Control items with free answers: people who answer in other words than the known answer are not stopped."""

import re
from pathlib import Path

import polars as pl
import pytest
from command import merilo
from every import every
from site_in_process import from_elsewhere, hidden, opened_site, to_first_task, visiting
from study_people import frozen, study_of

from merilo.items import Item
from merilo.site.served_study import load_study
from merilo.studies.study_folder import open_study


def item(name: str, number: int, gold: str | None, kind: str = "text") -> Item:
    """A question whose text says its number, and for control items also that."""
    text = f"Номер {number}{'.' if gold is None else ' известен.'}"
    identity = str(number) if gold is None else f"c{number}"
    if name == "use":
        inputs = {"task": "Задание.", "text": text, "choices": "", "additional_text": ""}
        meta = {"id": identity, "id_task": "1", "variant": 1, "score": 1, "type": kind}
        return Item(identity, "{task} {text}", inputs, gold, meta)
    return Item(identity, "{topic} {text}", {"topic": "Тема.", "text": text}, gold, {"id": identity})


#: Dataset -> the kind and the known answer of every control item, a right answer in other words, and a wrong answer.
CONTROLS = {
    "chegeka": [
        ("", "Пушкин", "А. С. Пушкин", "Гоголь"),
        ("", "Лев Толстой;Толстой", "граф Толстой", "Чехов"),
        ("", "«Война и мир»", "роман «Война и мир»", "Идиот"),
        ("", "12", "12 раз", "13"),
        ("", "Нева;река Нева", "Нева.", "Волга"),
    ],
    "use": [
        ("text", "слово,словцо", "Словцо", "иное"),
        ("multiple_choice_independent_options", "1,3", "1,3", "1"),
        ("matching", "3,1,2", "3,1,2", "3,1,1"),
        ("text", "дом", "дом.", "дым"),
        ("text", "вода,водица", "водица", "вод"),
    ],
}


@pytest.mark.thorough
@every("name", [*CONTROLS])
def test_other_words_stop_nobody_and_wrong_answers_do(name: str, tmp_path: Path) -> None:
    known = CONTROLS[name]
    controls = [item(name, number, gold, kind) for number, (kind, gold, *_) in enumerate(known)]
    tests = [item(name, number, None) for number in range(30)]
    study = frozen(study_of(tmp_path / name, tests, controls, dataset_name=name, overlap=2))
    path = f"/s/{study.arm_id('people')}/"
    ends = {}
    with opened_site(study) as site, visiting(site) as first:
        for which, person in ((3, "wrong"), (2, "honest"), (2, "other")):
            client = from_elsewhere(first, f"10.0.0.{len(ends)}")
            page = to_first_task(client, path, person)
            while 'name="task"' in page:
                number = re.search(r"Номер (\d+) известен", page)
                answer = known[int(number[1])][which] if number else "слово"
                form = {one: hidden(page, one) for one in ("token", "task")} | {"answer": answer}
                page = client.post(f"{path}task", data=form).text
                assert 'role="alert"' not in page, answer
            ends[person] = "Участие завершено" in page
    assert ends == {"wrong": True, "honest": False, "other": False}
    table = tmp_path / f"{name}.csv"
    assert merilo("study", "collect", study.path, "--out", table).status == 0
    assert merilo("study", "import", study.path, table).status == 0
    out = study.path / "baseline"
    merilo("study", "baseline", study.path, "--out", out)
    # The baseline judges the same answers to control items as the site did.
    people = pl.read_csv(out / "annotators.csv")
    assert sorted(people["control_accuracy"]) == [0.0, 1.0, 1.0]


def test_a_stricter_threshold_of_the_plan_is_kept(tmp_path: Path) -> None:
    controls = [item("chegeka", 1, "Война и мир")]
    folder = study_of(tmp_path / "study", [item("chegeka", 2, None)], controls, dataset_name="chegeka")
    for threshold, right in (("0.5", True), ("0.9", False), ("1.0", False)):
        plan = folder.path / "study.yaml"
        text = re.sub(r"\nbaseline: .*", "", plan.read_text("utf-8"))
        plan.write_text(f"{text}\nbaseline: {{min_control_score: {threshold}}}\n", "utf-8")
        served = frozen(open_study(folder.path))
        assert load_study(served, "people").is_right(1, "роман Война и мир") == right
