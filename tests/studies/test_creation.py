import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from edited_plan import edit_plan
from every import every

from merilo.datasets import CATALOGUE
from merilo.datasets.bundled_items import examples
from merilo.datasets.dataset_files import read_split
from merilo.datasets.generators import generate_splits
from merilo.datasets.rendering import render
from merilo.errors import DataError, InputError, OutputError, UsageError
from merilo.items import Item, Split, write_splits
from merilo.settings import Settings
from merilo.studies.creation import CreatedStudy, create_studies
from merilo.studies.plan_checks import freeze_study, validate_study
from merilo.studies.study_folder import changes_since_freeze, combined_hash, open_study, read_frozen
from merilo.studies.study_source import comparable, read_source


def edit(folder: Path, old: str, new: str, name: str = "study.yaml") -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")


def problems(folder: Path) -> list[str]:
    return [str(problem) for problem in validate_study(folder).problems]


def pairs(folder: Path, outputs: Sequence[str | None]) -> Path:
    """Items of ruDetox, each with another sentence, and a repeated rewritten sentence where `outputs` repeats it."""
    folder.mkdir(exist_ok=True)
    items = [
        Item(n, "{toxic_comment}", f"Болван № {n}, уйди!", out, {"id": n})
        for n, out in enumerate(outputs, start=1)
    ]
    write_splits(folder / "rudetox.json", [Split("test", tuple(items))])
    return folder / "rudetox.json"


@pytest.mark.thorough
def test_people_judge_pairs_of_rudetox_in_three_studies_and_a_sentence_once(tmp_path: Path) -> None:
    data = pairs(tmp_path, ["Уйди, пожалуйста.", "Прошу тебя уйти.", "Уйди, пожалуйста."])
    shots = pairs(tmp_path / "known", ["Просим вас уйти отсюда.", "Сядьте, пожалуйста, в кресло."])
    studies = create_studies(data, tmp_path / "studies", controls=shots, name="judges")
    asked = {project: [item.id for item in study.folder.items()] for project, study in studies.items()}
    assert asked == {"meaning": [1, 2, 3], "fluent": [1, 2], "inoffensive": [1, 2]}
    for project, study in studies.items():
        assert problems(tmp_path / "studies" / project) == []
        assert study.folder.plan.study == f"judges-{project}"
        assert all(item.outputs is None for item in study.folder.items())


def test_pairs_without_a_rewritten_sentence_and_controls_that_classifiers_rate_are_refused(
    tmp_path: Path,
) -> None:
    data = pairs(tmp_path, ["Уйди, пожалуйста.", None])
    with pytest.raises(DataError, match=r"1 of 2 items have no rewritten sentence \(outputs\)"):
        create_studies(data, tmp_path / "study")
    declaration = "name: polite\ntitle: Polite\nplaceholder: toxic_comment\nanswer: {kind: text}\nmetrics: [j]\nskills: [Common everyday knowledge]\n"
    (tmp_path / "dataset.yaml").write_text(declaration, encoding="utf-8")
    data = pairs(tmp_path, ["Уйди, пожалуйста.", "Прошу тебя уйти."])
    with pytest.raises(DataError, match="no answer is the known one"):
        create_studies(
            data, tmp_path / "study", controls=pairs(tmp_path / "known", ["Просим вас уйти отсюда."])
        )
    assert not (tmp_path / "study").exists()


@every("name", ["rummlu", "rutie", "use", "ruhumaneval"])
def test_a_study_of_every_kind_of_dataset_is_valid(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp(name)
    path = folder / f"{name}.json"
    write_splits(path, list(examples(CATALOGUE[name]).values()))
    made = create_studies(path, folder / "study", dataset=name)[""]
    assert problems(folder / "study") == []
    study = open_study(folder / "study")
    assert study.plan == made.folder.plan
    original = {item.id: item for item in read_split(path)}
    items = study.items()
    assert [one.id for one in items] == list(original)
    for one in items:
        assert render(one, CATALOGUE[name]) == render(original[one.id], CATALOGUE[name])
        assert one.outputs == original[one.id].outputs
    asked = set(comparable(items))
    assert not asked.intersection(comparable(study.controls()))
    assert set(made.folder.plan.arms) == ({"people", "experts"} if CATALOGUE[name].expert else {"people"})
    for language in ("ru", "en"):
        text = study.instruction(language)
        assert all(rule.text(language) in text for rule in study.plan.restrictions)
        # An example is shown with its answer, so it must not be a control item.
        assert not any(render(one, CATALOGUE[name]) in text for one in (*items, *study.controls()))


def test_a_folder_is_created_the_same_by_the_same_seed(lcs_file: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("study-a", "study-b")]
    for folder in folders:
        create_studies(lcs_file, folder, dataset="lcs", size=30, seed=3, name="x")
    for path in sorted(folders[0].iterdir()):
        ours, theirs = path.read_text(), (folders[1] / path.name).read_text()
        assert ours.replace("study-a", "") == theirs.replace("study-b", "")


def test_an_expert_dataset_has_two_arms_and_its_cards_description(school: Path, create) -> None:
    made = create(school, language=("ru", "en"))
    assert made.source.audience_from == "the skill 'Expert domain knowledge' of raw_dataset_meta.json"
    people, experts = made.folder.plan.arms.values()
    assert (people.kind, experts.kind) == ("untrained", "expert")
    assert (people.skip_own, experts.skip_own) == (False, True)
    assert (people.items_per_person, experts.items_per_person) == (12, 12), "the items that there are"
    text = made.folder.instruction("ru")
    assert "Ответьте на школьный вопрос." in text
    assert "придуман" not in text  # only experts need the rule, and it is added to their page
    assert made.folder.plan.baseline.by == ("subject",)
    assert {item.meta["subject"] for item in made.examples} == {"physics", "history", "law"}
    assert not set(comparable(made.examples)) & set(comparable(made.folder.controls()))
    # Items of the study carry their template, so that the metadata's prompts are not needed.
    assert render(made.folder.items()[0], made.folder.declared()) == "Test question 1? A or B?"
    assert problems(made.folder.path) == []


def test_without_a_skill_or_a_dataset_the_author_is_asked(school: Path, create) -> None:
    (school / "raw_dataset_meta.json").write_text('{"skills": ["Logic"]}')
    with pytest.raises(UsageError, match="do not say whom to ask"):
        create(school)
    assert create(school, audience="basic").folder.plan.arms["people"].kind == "basic"
    (school / "dataset.yaml").unlink()
    with pytest.raises(UsageError, match="nothing says which dataset"):
        read_source(school)


def test_a_dataset_without_shots_says_so(tmp_path: Path, create) -> None:
    path = tmp_path / "lcs.json"
    write_splits(path, [Split("test", generate_splits("lcs", 20, seed=1)[0].items)])
    made = create(path, dataset="lcs")
    assert made.folder.plan.controls is None
    assert any("no solved items for controls" in warning for warning in made.warnings)
    assert made.folder.instruction("ru").count("Правильный ответ") == 10, "Merilo's own examples, one a label"
    assert problems(made.folder.path) == []


def test_controls_of_a_file_get_ids_of_their_own_and_never_repeat_the_test(
    lcs_file: Path, tmp_path: Path, create
) -> None:
    test = read_split(lcs_file)
    fresh = [
        item
        for item in generate_splits("lcs", 40, seed=9)[0]
        if item.inputs not in {one.inputs for one in test}
    ]
    own = tmp_path / "controls.json"
    # The ids 1 to 40 are also those of test items; five questions are those of the test.
    write_splits(own, [Split("controls", (*fresh, *(replace(item, id=f"copy{item.id}", meta={"id": f"copy{item.id}"}) for item in test.items[:5])))])  # fmt: skip
    made = create(lcs_file, dataset="lcs", controls=own, control_share=0.2)
    assert not any("a share of" in warning for warning in made.warnings)
    controls = made.folder.controls()
    assert len(controls) == 15
    assert not {str(one.id) for one in controls} & {str(item.id) for item in test}
    assert any("repeat questions of the test" in warning for warning in made.warnings)
    assert problems(made.folder.path) == []
    same = tmp_path / "same.json"
    write_splits(same, [Split("controls", test.items)])
    with pytest.raises(DataError, match="has no item that can serve for controls"):
        create(lcs_file, dataset="lcs", controls=same)


def test_training_items_are_neither_controls_nor_examples(lcs_file: Path, tmp_path: Path, create) -> None:
    shots = read_split(lcs_file, name="shots")
    own = tmp_path / "training.json"
    write_splits(own, [Split("training", shots.items[:6])])
    made = create(lcs_file, dataset="lcs", training=own, control_share=0.3)
    assert made.folder.plan.controls.every == 3
    assert any("one task in 3 is a control item, a share of 0.333" in warning for warning in made.warnings)
    training = set(comparable(made.folder.training()))
    assert len(training) == 6
    assert not training & set(comparable(made.folder.controls()))
    assert not training & set(comparable(made.examples))
    assert "80\u00a0%" in made.folder.instruction("ru")


def test_controls_and_training_come_from_the_items_that_were_not_drawn(
    lcs_file: Path, tmp_path: Path, create
) -> None:
    entries = json.loads(lcs_file.read_text(encoding="utf-8"))
    for entry in entries["data"]["test"][:6]:
        entry["outputs"] = ""
    lcs_file.write_text(json.dumps(entries), encoding="utf-8")
    made = create(lcs_file, dataset="lcs", size=30, controls=Path("8"), training=Path("3"))
    asked, *known = (
        {item.inputs for item in items}
        for items in (made.folder.items(), made.folder.controls(), made.folder.training())
    )
    assert [len(asked), *map(len, known)] == [30, 8, 3]
    assert len(asked.union(*known)) == 41
    assert known[0] | known[1] <= {entry["inputs"] for entry in entries["data"]["test"][6:]}
    without = 6 - sum(item.outputs is None for item in made.folder.items())
    assert f"items that are not drawn: {without} without one gold answer are not used" in made.warnings
    assert problems(made.folder.path) == []


@every(
    "wishes, decided",
    [
        ({"control_share": 0.001, "size": 1}, {"arms.people.overlap": 40}),
        ({"control_share": 0.5, "name": "it's «с кавычками»"}, {"arms.people.items_per_person": 100_000}),
        ({"audience": "expert", "name": "- x"}, {"arms.*.overlap": 1, "assumptions.expected": 0.99}),
    ],
)
def test_a_plan_of_any_decisions_can_be_frozen(
    lcs_file: Path, create, wishes: dict[str, object], decided: dict[str, object]
) -> None:
    folder = create(lcs_file, dataset="lcs", **wishes).folder.path
    edit_plan(folder, decided)
    freeze_study(folder)  # raises if the plan has problems


def test_a_study_that_will_have_no_metric_says_so_before_people_are_paid(
    lcs_file: Path, tmp_path: Path, create
) -> None:
    def warned(made: CreatedStudy, sentence: str) -> bool:
        both = made.warnings, validate_study(made.folder.path).warnings
        return all(any(sentence in warning for warning in warnings) for warnings in both)

    entries = json.loads(lcs_file.read_text(encoding="utf-8"))
    for entry in entries["data"]["test"][:57]:
        entry["outputs"] = ""
    part = tmp_path / "part.json"
    part.write_text(json.dumps(entries), encoding="utf-8")
    assert warned(create(part, dataset="lcs"), "57 of 60 items have no gold answer and will not count in acc")
    for entry in entries["data"]["test"]:
        entry["outputs"] = ""
    part.write_text(json.dumps(entries), encoding="utf-8")
    made = create(part, dataset="lcs")
    assert warned(made, "will compute the agreement and the cost, but no acc")
    assert not warned(create(lcs_file, dataset="lcs"), "no acc")
    exam = examples(CATALOGUE["use"])["test"]
    write_splits(tmp_path / "use.json", [replace(exam, items=exam.items[:10])])
    assert warned(create(tmp_path / "use.json", dataset="use"), "no complete variant (30 items, 34 points)")


@every(
    "wishes, message",
    [
        ({"size": 10, "per_domain": 3}, "give size or per_domain, not both"),
        ({"field": ("domain",)}, "no item has the field 'domain'"),
        ({"control_share": 0.0}, "control_share must be more than 0"),
        ({"control_share": float("nan")}, "control_share must be a finite number"),
        ({"language": ("de",)}, "language must be"),
        ({"per_domain": 3}, "per_domain needs the field of the domain"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(
    lcs_file: Path, create, wishes: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        create(lcs_file, dataset="lcs", **wishes)


@every(
    "old, new, message",
    [
        ("dataset: lcs", "dataset: lsc", "dataset: there is no dataset 'lsc': did you mean lcs?"),
        ("instruction.ru.md", "instruktion.md", "instruction.ru: the file instruktion.md is missing"),
        ("fields: [", "fields: [domain, ", "subset.fields: no item has the field 'domain'; choose from: answer"),
        ("by: []", "by: [answr]", "baseline.by: no item has the field 'answr'; did you mean 'answer'?"),
        ("size: 60\n  of: 60", "size: 50\n  of: 60", "subset.size: says 50 items, but items.jsonl has 60"),
        ("min_controls: 1", "min_controls: 4", "baseline.min_controls: is 4, but a person of 'people' gets at most 3 control items"),
        ("metric: acc", "metric: accuracy", "baseline"),
        ('"1.6": ""', '"1.61": ""', "checklist.1.61: is not a number of the checklist"),
    ],
)  # fmt: skip
def test_validate_names_what_an_edited_plan_contradicts(
    lcs_file: Path, create, old: str, new: str, message: str
) -> None:
    made = create(lcs_file, dataset="lcs")
    edit(made.folder.path, old, new)
    found = problems(made.folder.path)
    assert found, (old, new)
    assert message in found[0]
    assert found[0].startswith("study.yaml, row ")


def test_validate_names_files_that_were_damaged(lcs_file: Path, create) -> None:
    made = create(lcs_file, dataset="lcs")
    folder = made.folder.path
    items = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(items[0])
    first["prompt"] = "Something else"
    (folder / "items.jsonl").write_text("\n".join([json.dumps(first), *items[1:]]), encoding="utf-8")
    assert problems(folder) == [
        f"items.jsonl, row 1, prompt: item {first['meta']['id']}: the prompt is not what instruction and inputs give, "
        "which people and models get"
    ]
    (folder / "items.jsonl").write_text("\n".join([*items[:-1], items[-1][:20]]), encoding="utf-8")
    assert problems(folder)[0].startswith("items.jsonl, row 60: is not JSON")
    (folder / "items.jsonl").unlink()
    assert problems(folder) == ["items.jsonl: there is no such file"]


def test_validate_finds_a_control_that_repeats_a_test_item_or_its_id(lcs_file: Path, create) -> None:
    made = create(lcs_file, dataset="lcs")
    folder = made.folder.path
    controls = (folder / "controls.jsonl").read_text(encoding="utf-8")
    item = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (folder / "controls.jsonl").write_text(controls + item + "\n", encoding="utf-8")
    found = problems(folder)
    assert any("repeats the question of test item 1" in problem for problem in found)
    assert any("answers are matched by id" in problem for problem in found)


def test_a_decision_that_the_instruction_lacks_is_a_warning(lcs_file: Path, create) -> None:
    folder = create(lcs_file, dataset="lcs").folder.path
    rules = [{"ru": "Работайте в тишине.", "en": "Work in silence."}, {"ru": "Не спешите.", "en": None}]
    edit_plan(folder, {"restrictions": rules, "arms.people.time_limit": 90})
    both = "Работайте в тишине. Не спешите. 90 секунд."
    edit(folder, "## Ограничения", f"## Ограничения\n{both}", "instruction.ru.md")
    assert [text for text in validate_study(folder).warnings if "restriction" in text or "limit" in text] == [
        "instruction.en.md does not contain restriction 1: 'Work in silence.'",
        "restrictions.1.en: restriction 2 has no text in this language, so the instruction, the card and the methods in "
        "it leave it out: 'Не спешите.'",
        "instruction.en.md does not name the time limit of 90 seconds (arms.people.time_limit)",
    ]
    assert freeze_study(folder)[1].warnings == validate_study(folder).warnings


def test_a_study_without_a_verdict_is_frozen_only_if_its_author_agrees(lcs_file: Path, create) -> None:
    folder = create(lcs_file, dataset="lcs").folder.path
    edit_plan(folder, {"arms.people.people": 3, "arms.people.overlap": 3})
    asked: list[str] = []
    with pytest.raises(DataError, match="the plan was not frozen; to freeze it nevertheless, give yes"):
        freeze_study(folder, agreed=lambda sentences: bool(asked.extend(sentences)))
    assert asked == [
        "people: with 3 people no model can be told from people (at least 10 are needed); with 60 items, equality can "
        "be shown within ±0.63 only."
    ]
    assert read_frozen(folder) is None
    freeze_study(folder, agreed=lambda _: True)
    edit_plan(folder, {"arms.people.people": 30})
    freeze_study(folder, force=True, agreed=lambda _: False)


def test_a_frozen_plan_names_every_later_difference_and_is_replaced_by_force_only(
    lcs_file: Path, create
) -> None:
    folder = create(lcs_file, dataset="lcs").folder.path
    frozen, _ = freeze_study(folder, day="2026-03-01")
    assert (frozen.date, frozen.hash) == ("2026-03-01", combined_hash(frozen.files))
    assert set(frozen.files) == {
        "study.yaml", "items.jsonl", "weights.csv", "controls.jsonl", "instruction.ru.md", "instruction.en.md",
    }  # fmt: skip
    with pytest.raises(OutputError, match="the plan was frozen on 2026-03-01"):
        freeze_study(folder)
    assert freeze_study(folder, day="2026-03-01", force=True)[0] == frozen
    edit(folder, "seed: 0", "# a comment of the author\nseed: 0")
    assert changes_since_freeze(folder) == []
    edit(folder, "overlap: 5", "overlap: 3")
    edit(folder, '"1.6": ""', '"1.6": "the board of the university"')
    edit(folder, "Restrictions", "Rules", "instruction.en.md")
    changes = {change.what: change for change in changes_since_freeze(folder)}
    assert set(changes) == {"arms.people.overlap", "checklist.1.6", "instruction.en.md"}
    assert [what for what, change in changes.items() if not change.decision] == ["checklist.1.6"]
    warned = validate_study(folder).warnings
    assert "differs from the frozen plan: arms.people.overlap: 5 was changed to 3" in warned
    assert not any("1.6" in warning for warning in warned)
    edit(folder, frozen.files["items.jsonl"], "0" * 64, "frozen.json")
    with pytest.raises(InputError, match="the record was edited"):
        read_frozen(folder)


def test_the_plan_gives_the_settings_of_the_baseline(lcs_file: Path, create) -> None:
    made = create(lcs_file, dataset="lcs")
    edit(made.folder.path, "aggregator: majority", "aggregator: dawid-skene")
    plan = open_study(made.folder.path).plan
    assert plan.settings(plan.arms["people"]) == Settings(
        metric="acc", aggregator="dawid-skene", currency="USD"
    )
