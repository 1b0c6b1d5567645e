"""A study without a server, from the freeze to the baseline, in a real browser that has no network."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command import done, merilo
from study_people import bundled_study, frozen, study_of

from merilo.datasets import dataset
from merilo.datasets.bundled_items import examples
from merilo.datasets.rendering import Media
from merilo.errors import DataError
from merilo.site.offline_pages import export_pages
from merilo.site.served_study import ServedStudy, load_study
from merilo.studies.platform_rows import SEALED, page_key, seal
from merilo.studies.study_folder import StudyFolder
from merilo.studies.study_import import read_imports


def pages_of(study: StudyFolder, out: Path, *words: object) -> list[Path]:
    done("study", "export", study.path, "--platform", "page", "--out", out, *words)
    return sorted(out.glob("*.html"))


@pytest.fixture
def trained(tmp_path: Path) -> StudyFolder:
    """Six items for three people each, with two control and two training items."""
    splits = examples(dataset("bps"))
    test, shots = splits["test"].items, splits["shots"].items
    return frozen(study_of(tmp_path / "study", test[:6], shots[:2], training=test[6:], overlap=3))


@pytest.fixture
def phone(browser: object, tmp_path: Path) -> Iterator:
    """A browser like a phone's, without a network."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, accept_downloads=True)
    context.set_offline(True)
    yield context
    context.close()


def answer_next(page: object, known: dict[str, str]) -> str:
    """Answer the task that is shown with its own gold."""
    task = page.locator("section[data-step]:visible [data-task]").get_attribute("data-task")
    page.locator(f"section[data-step]:visible input[value='{known[task]}']").check()
    page.locator("section[data-step]:visible button.main").click()
    return task


def answer_all(page: object, known: dict[str, str]) -> None:
    while not page.locator("[data-step=end]").is_visible():
        answer_next(page, known)


def pass_training(page: object, known: dict[str, str], tasks: int) -> None:
    page.locator("[data-step=consent] button.main").click()
    page.locator("[data-step=instruction] button.main").click()
    for _ in range(tasks):
        answer_next(page, known)
        page.locator("#feedback .verdict").wait_for()
        page.locator("#feedback button").click()


def saved(page: object, folder: Path, name: str) -> Path:
    with page.expect_download() as download:
        page.locator("button[data-do=save]:visible").first.click()
    path = folder / name
    download.value.save_as(path)
    return path


def gold_of(study: ServedStudy) -> dict[str, str]:
    items = {
        task.id: str(asked.outputs) for task, asked in zip(study.tasks, study.folder.items(), strict=False)
    }
    return items | {task.id: task.known for task in study.tasks if task.known}


def test_three_people_without_a_network_one_of_them_interrupted(
    trained: StudyFolder, tmp_path: Path, phone: object
) -> None:
    study = load_study(trained, "people")
    gold = gold_of(study)
    pages = pages_of(trained, tmp_path / "pages")
    assert len(pages) == 3
    files, errors = [], []
    for number, path in enumerate(pages):
        page = phone.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(path.as_uri())
        pass_training(page, gold, 2)
        if number == 0:
            for _ in range(3):
                answer_next(page, gold)
            files.append(saved(page, tmp_path, "half.json"))
            page.close()
            page = phone.new_page()  # the browser was closed in the middle: it goes on from the same task
            page.goto(path.as_uri())
            assert "3 из" in page.locator("[data-step=task]:visible .progress").inner_text()
        answer_all(page, gold)
        files.append(saved(page, tmp_path, f"{number}.json"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not errors
    # The interrupted file is a part of a later one, and all files are imported twice: nothing is doubled.
    for _ in range(2):
        assert merilo("study", "import", trained.path, *files).status == 0
    imports = read_imports(trained)
    places = export_pages(study, tmp_path / "again").places
    assert imports.tables["people"].answers == sum(len(place.tasks) for place in places)
    rows = [
        json.loads(line) for line in (trained.path / "answers/people.jsonl").read_text("utf-8").splitlines()
    ]
    assert set(Counter(row["id"] for row in rows if row["control"] is None).values()) == {3}
    own = merilo("study", "baseline", trained.path, "--json", "-").json
    assert own["metrics"]["acc"]["value"] == 1.0
    # The same answers as the site's table give the same baseline.
    table = tmp_path / "answers.csv"
    fields = [name for name in SEALED if name != "mine"]
    with table.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fields, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(row for path in files[1:] for row in json.loads(path.read_text("utf-8")))
    for path in (trained.path / "imports", trained.path / "answers"):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    (trained.path / "imports.json").unlink(missing_ok=True)
    assert merilo("study", "import", trained.path, table).status == 0
    other = merilo("study", "baseline", trained.path, "--json", "-").json
    del own["provenance"], other["provenance"]
    assert own == other


def test_whoever_fails_the_training_gets_no_task(trained: StudyFolder, tmp_path: Path, phone: object) -> None:
    wrong = {task: "10"[int(answer)] for task, answer in gold_of(load_study(trained, "people")).items()}
    (path, *_) = pages_of(trained, tmp_path / "pages")
    page = phone.new_page()
    page.goto(path.as_uri())
    pass_training(page, wrong, 2)
    page.locator("#refused").wait_for()
    page.wait_for_timeout(500)  # the browser writes its storage a moment later
    page.reload()
    page.locator("#refused").wait_for()


def test_a_page_tells_no_gold_and_no_kind(trained: StudyFolder, tmp_path: Path) -> None:
    study = load_study(trained, "people")
    (place, *_) = export_pages(study, tmp_path / "pages").places
    text = (tmp_path / "pages" / "place-001.html").read_text("utf-8")
    assert "http:" not in text
    assert "https:" not in text
    sections = text.split('<section data-step="task"')[1:]
    same = set()
    for section, number in zip(sections, place.tasks, strict=True):
        shown = section.partition("</form>")[0].replace(study.tasks[number].id, "ID")
        without_prompt = re.sub(r'<div class="prompt">.*?</div>', "", shown, flags=re.DOTALL)
        same.add(re.sub(r"\d+", "N", without_prompt))
    assert len(same) == 1
    data = json.loads(text.partition('id="place">')[2].partition("</script>")[0])
    assert set(data["training"]) == {study.tasks[number].id for number in study.training}
    assert set(data["keys"]) == {study.tasks[number].id for number in (*study.training, *place.tasks)}


def answers(study: ServedStudy, respondent: str, tasks: list[str], copy: str = "c1") -> list[dict[str, str]]:
    rows, before = [], ""
    for at, task in enumerate(tasks, start=1):
        fields = (
            study.key,
            task,
            "1",
            "",
            respondent,
            f"{copy}-{at}",
            "2026-03-02T09:00:00.000Z",
            "2026-03-02T09:00:07.000Z",
        )
        before = seal(page_key(study.secret, respondent, task), fields, before)
        rows.append({**dict(zip(SEALED, fields, strict=True)), "seal": before})
    return rows


def test_a_changed_file_is_refused_with_its_row(tmp_path: Path) -> None:
    folder = frozen(bundled_study(tmp_path / "study"))
    study = load_study(folder, "people")
    tasks = [task.id for task in study.tasks[:3]]
    good = answers(study, "place-001", tasks)
    (tmp_path / "good.json").write_text(json.dumps(good), "utf-8")
    assert merilo("study", "import", folder.path, tmp_path / "good.json").status == 0
    cases = {
        "an answer": ([good[0], {**good[1], "answer": "0"}, good[2]], 2),
        "a time": ([good[0], {**good[1], "submitted": "2026-03-02T09:00:02.000Z"}, good[2]], 2),
        "one taken out": ([good[0], good[2]], 2),
        "another order": ([good[1], good[0], good[2]], 1),
        "another place": ([{**row, "respondent": "place-002"} for row in good], 1),
        "no text": ([good[0], {**good[1], "answer": 1}], 2),
    }
    for name, (rows, row) in cases.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(rows), "utf-8")
        refused = merilo("study", "import", folder.path, path)
        assert (refused.status, f"row {row}" in refused.err) == (1, True), (name, refused.err)
    # The same place in another browser is another person: only one of the two counts.
    (tmp_path / "second.json").write_text(json.dumps(answers(study, "place-001", tasks, "c2")), "utf-8")
    refused = merilo("study", "import", folder.path, tmp_path / "second.json")
    assert refused.status == 1
    assert "in another browser" in refused.err
    # Of a cut file nothing is read.
    (tmp_path / "cut.json").write_text(json.dumps(good)[:-40], "utf-8")
    assert merilo("study", "import", folder.path, tmp_path / "cut.json").status == 2
    assert read_imports(folder).tables["people"].answers == 3


@pytest.mark.parametrize(("overlap", "each"), [(1, 3), (3, 4), (5, 50), (2, 7)])
def test_every_item_is_on_exactly_as_many_pages_as_planned(tmp_path: Path, overlap: int, each: int) -> None:
    splits = examples(dataset("bps"))
    study = study_of(tmp_path / "study", splits["test"].items, splits["shots"].items[:3], overlap=overlap)
    text = (study.path / "study.yaml").read_text("utf-8")
    plan = text.replace("items_per_page: 1", f"items_per_page: 1\n    items_per_person: {each}")
    (study.path / "study.yaml").write_text(plan, "utf-8")
    served = load_study(frozen(study), "people")
    places = export_pages(served, tmp_path / "pages").places
    asked = Counter(number for place in places for number in place.tasks if served.rules.is_test(number))
    assert asked == dict.fromkeys(range(served.rules.tests), overlap)
    for place in places:
        assert len(set(place.tasks)) == len(place.tasks)
        assert place.tests <= each + 1
    first = [path.read_bytes() for path in sorted((tmp_path / "pages").iterdir())]
    export_pages(served, tmp_path / "pages", force=True)
    assert first == [path.read_bytes() for path in sorted((tmp_path / "pages").iterdir())]


def test_an_expert_gets_the_domains_in_which_they_wrote_and_no_item_of_their_own(tmp_path: Path) -> None:
    splits = examples(dataset("bps"))
    metas = [("law", "Anna"), ("law", "Boris"), ("art", "Boris"), ("art", "Clara")] * 2
    items = [
        replace(item, meta={**item.meta, "domain": domain, "author": author})
        for item, (domain, author) in zip(splits["test"].items, metas, strict=True)
    ]
    study = study_of(tmp_path / "study", items, [], experts=True)
    text = (study.path / "study.yaml").read_text("utf-8")
    plan = text.replace("kind: expert", "kind: expert\n    domain: domain").replace(
        "controls: {every: 5}\n", ""
    )
    (study.path / "study.yaml").write_text(plan, "utf-8")
    served = load_study(frozen(study), "experts")
    places = export_pages(served, tmp_path / "pages", experts=["Anna", "Boris", "Dora"]).places
    asked = [{served.tasks[number].domain for number in place.tasks} for place in places]
    assert asked == [{"law"}, {"law", "art"}, {"law", "art"}]
    assert not any(
        place.respondent in served.tasks[number].authors for place in places for number in place.tasks
    )
    # The table of the same expert has the same tasks.
    done(
        "study",
        "export",
        study.path,
        "--platform",
        "table",
        "--arm",
        "experts",
        "--expert",
        "Anna",
        "--out",
        tmp_path / "t",
    )
    table = (tmp_path / "t" / "01-Anna" / "tasks.csv").read_text("utf-8-sig")
    rows = {row["task"] for row in csv.DictReader(table.splitlines())}
    assert rows == {served.tasks[number].id for number in places[0].tasks}


def test_files_of_tasks_are_in_the_page_and_a_missing_one_is_named(
    trained: StudyFolder, tmp_path: Path
) -> None:
    (trained.path / "samples").mkdir()
    (trained.path / "samples" / "cat.png").write_bytes(b"a picture")
    study = load_study(trained, "people")

    def with_media(path: str) -> ServedStudy:
        task = replace(study.tasks[0])
        vars(task).update(prompt="Look: <image>", media=(Media("image", path),))
        return replace(study, tasks=(task, *study.tasks[1:]))

    export_pages(with_media("samples/cat.png"), tmp_path / "pages")
    page = (tmp_path / "pages" / "place-001.html").read_text("utf-8")
    assert 'src="data:image/png;base64,YSBwaWN0dXJl"' in page
    assert "cat.png" not in page
    with pytest.raises(DataError, match=r"the file samples/gone\.png of the task \w+ is missing"):
        export_pages(with_media("samples/gone.png"), tmp_path / "none")
    assert not (tmp_path / "none").exists()
