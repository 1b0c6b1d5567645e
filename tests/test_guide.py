"""The guide for human baselines, requirement by requirement.

Each row states a requirement in our words, the section of the guide, the file and field that meets it, and a check of that field
in one study that was taken from its dataset to `hb/`.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections import Counter
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from command import merilo
from guide_study import ASKED, AUTHORS, DOMAINS, GuideStudy, guide_study
from guide_study import MINE_TEXT as MINE
from hb_notebook import run_notebook

import merilo as merilo_library
from merilo.baselines.row import Margin
from merilo.reports.comparison import planned_margin

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> GuideStudy:
    return guide_study(tmp_path_factory.mktemp("guide"))


class Requirement(NamedTuple):
    section: str
    demand: str
    met_by: str
    holds: Callable[[GuideStudy], bool]


def instruction(run: GuideStudy) -> str:
    return run.text("hb/raw/instruction.ru.md")


def section(run: GuideStudy, language: str = "ru") -> str:
    return run.json(f"hb/raw_readme_{language}.json")["Human baseline"]


def largest_deviation(run: GuideStudy) -> float:
    return max(abs(float(row["deviation_points"])) for row in run.rows("study/subset.csv"))


def regular(run: GuideStudy) -> bool:
    """Whether the control items stand at regular intervals among Toloka's tasks."""
    tasks = [row for row in run.rows("export/tasks.tsv") if not row["HINT:text"]]
    places = [number for number, row in enumerate(tasks) if row["GOLDEN:answer"]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(places)]
    return len(places) == len(run.controls) and max(gaps) - min(gaps) <= 1


def sheet(run: GuideStudy, expert: str) -> list[dict[str, str]]:
    (path,) = (run.root / "sheets").glob(f"*-{expert}")
    return run.rows(f"sheets/{path.name}/tasks.csv")


def by_dawid_skene(run: GuideStudy) -> pl.DataFrame:
    rows = pl.DataFrame(run.rows("hb/raw/responses.csv"))
    return merilo_library.aggregate(
        rows.select(task="item", worker="respondent", label="answer"), "dawid-skene"
    )


def asked_once(run: GuideStudy) -> bool:
    """Whether no person met a control item twice."""
    seen = Counter(
        (row["respondent"], row["item"])
        for row in run.rows("hb/raw/responses.csv")
        if row["is_control"] == "true"
    )
    return set(seen.values()) == {1}


GENERAL = "General rules"
INSTRUCTION = "How to write the instruction"
TASKS = "Wording of the tasks"
PEOPLE = "Choice of annotators"
CONTROLS = "Control questions"
LARGE = "Large datasets"
AGREEMENT = "Agreement of annotators"
LOW = "Share of items with low agreement"
ANSWERS = "Aggregated answer to each question"
QUALITY = "Quality of annotators"
ERRORS = "Errors in the dataset"
SCORE = "Overall quality"
EXPERTS = "Expert tests"
DONE = "Definition of done"

# fmt: off
REQUIREMENTS = [
    Requirement(GENERAL, "the knowledge skills decide between a basic and an expert test", "study.yaml: arms",
        lambda run: [arm["kind"] for arm in run.plan["arms"].values()] == ["untrained", "expert"]),
    Requirement(GENERAL, "an expert test asks experts and people without training", "hb/baseline.json: arm, arms",
        lambda run: bool(run.experts["metrics"]) and (run.metrics["arm"], run.metrics["annotators"]["total"]) == ("people", 10)),

    Requirement(INSTRUCTION, "the task is explained in both languages", "hb/raw/instruction.*.md",
        lambda run: "Сложите два числа." in instruction(run) and "Add two numbers." in run.text("hb/raw/instruction.en.md")),
    Requirement(INSTRUCTION, "search, calculators and neural networks are forbidden", "study.yaml: restrictions",
        lambda run: all(word in instruction(run) for word in ("в интернете", "калькулятором", "нейросетями"))),
    Requirement(INSTRUCTION, "the author's own restrictions stand in the instruction too", "study.yaml: restrictions",
        lambda run: "Не обсуждайте задания." in instruction(run) and len(run.plan["restrictions"]) == 4),
    Requirement(INSTRUCTION, "the restrictions reach the people on the platform", "Toloka: project.json, instruction.html",
        lambda run: all("Не пользуйтесь нейросетями" in run.text(f"export/{name}") for name in ("instruction.html", "project.json"))),
    Requirement(INSTRUCTION, "examples show every kind of answer", "hb/raw/instruction.ru.md",
        lambda run: all(f"**Правильный ответ:** {label}" in instruction(run) for label in "ABCD")),
    Requirement(INSTRUCTION, "examples show every domain; what they do not show is named", "merilo study create: warnings",
        lambda run: not any("domain" in warning for warning in run.created["warnings"])),
    Requirement(INSTRUCTION, "a training explains the work", "study.yaml: training; Toloka: training.tsv",
        lambda run: run.plan["training"]["feedback"] and len(run.rows("export/training.tsv")) == 8),

    Requirement(TASKS, "people see the text that models receive", "Toloka: tasks.tsv, INPUT:prompt",
        lambda run: {one["prompt"] for one in run.items} < {row["INPUT:prompt"] for row in run.rows("export/tasks.tsv")}),
    Requirement(TASKS, "the task shows no solved examples", "study: items.jsonl, prompt",
        lambda run: all(one["prompt"].count("Ответ:") == 1 for one in run.items)),
    Requirement(TASKS, "people answer by the labels of models", "Toloka: project.json, output_spec",
        lambda run: run.json("export/project.json")["task_spec"]["output_spec"]["answer"]["allowed_values"] == [*"ABCD"]),

    Requirement(PEOPLE, "five people answer every item", "hb/baseline.json: items.overlap_before_exclusion",
        lambda run: run.plan["arms"]["people"]["overlap"] == 5 and run.metrics["items"]["overlap_before_exclusion"] == {"5": ASKED}),
    Requirement(PEOPLE, "a crowd platform is used, and named", "hb/raw_readme_*.json",
        lambda run: "платформы Toloka" in section(run) and "Toloka" in section(run, "en")),
    Requirement(PEOPLE, "the number of tasks on a page is the author's choice", "study.yaml: arms.people.items_per_page",
        lambda run: run.plan["arms"]["people"]["items_per_page"] == 10),

    Requirement(CONTROLS, "one task in twenty is a control item", "study.yaml: controls.every; controls.jsonl",
        lambda run: run.plan["controls"]["every"] == 20 and len(run.controls) == ceil(ASKED / 19)),
    Requirement(CONTROLS, "their answers are known beforehand", "study: controls.jsonl, outputs",
        lambda run: all(one["outputs"] in "ABCD" for one in run.controls)),
    Requirement(CONTROLS, "they are not items of the test", "study: controls.jsonl, items.jsonl",
        lambda run: not {one["prompt"] for one in run.controls} & {one["prompt"] for one in run.items}),
    Requirement(CONTROLS, "they stand at regular intervals", "Toloka: tasks.tsv, GOLDEN:answer", regular),
    Requirement(CONTROLS, "nobody meets one twice", "hb/raw/responses.csv: is_control", asked_once),
    Requirement(CONTROLS, "they look like items of the test", "merilo study create: controls.shares",
        lambda run: run.created["controls"]["shares"] and run.created["controls"]["alike"]),
    Requirement(CONTROLS, "answers to them give each annotator's skill", "hb/annotators.csv: control_accuracy",
        lambda run: all(row["controls"] == "0" or row["control_accuracy"] for row in run.rows("hb/annotators.csv"))),

    Requirement(LARGE, "a part of the items may be asked", "hb/raw/study.yaml: subset",
        lambda run: (run.plan["subset"]["size"], run.plan["subset"]["of"]) == (ASKED, 320)),
    Requirement(LARGE, "the part has the distribution of domains and classes", "study/subset.csv: deviation_points",
        lambda run: {"domain", "answer"} <= {row["field"] for row in run.rows("study/subset.csv")} and largest_deviation(run) <= 1),
    Requirement(LARGE, "further fields are kept where they can be", "study.yaml: subset.fields",
        lambda run: {"author", "length"} <= set(run.plan["subset"]["fields"])),
    Requirement(LARGE, "each item's weight is known", "study/weights.csv: weight",
        lambda run: abs(sum(float(row["weight"]) for row in run.rows("study/weights.csv")) - 320) < 1e-3),

    Requirement(AGREEMENT, "answers are aggregated by majority", "hb/consensus.csv: label, resolved_by",
        lambda run: {"unanimous", "majority"} <= {row["resolved_by"] for row in run.rows("hb/consensus.csv")}),
    Requirement(AGREEMENT, "a majority of 5 answers is 3", "hb/baseline.json: agreement.votes_needed",
        lambda run: "3" in run.metrics["agreement"]["votes_needed"]),
    Requirement(AGREEMENT, "or by Dawid and Skene's model", "hb/raw/responses.csv",
        lambda run: by_dawid_skene(run).height >= ASKED),
    Requirement(AGREEMENT, "the agreement is measured", "hb/baseline.json: agreement",
        lambda run: 0 < run.metrics["agreement"]["krippendorff_alpha"] < 1),

    Requirement(LOW, "the allowed share is decided beforehand", "study.yaml: baseline.max_low_agreement",
        lambda run: run.plan["baseline"]["max_low_agreement"] == run.metrics["agreement"]["max_low_agreement"]),
    Requirement(LOW, "the share is reported, and the baseline is accepted below it", "hb/baseline.json: status",
        lambda run: run.metrics["status"] == "accepted" and run.metrics["agreement"]["low_agreement_share"] <= 0.3),
    Requirement(LOW, "the figure on items with a majority is given", "hb/baseline.json: by_majority_alone.acc",
        lambda run: run.metrics["by_majority_alone"]["acc"]["n"] == ASKED - run.metrics["agreement"]["low_agreement"]),

    Requirement(ANSWERS, "every item gets an answer", "hb/consensus.csv: label",
        lambda run: len(run.rows("hb/consensus.csv")) == ASKED and all(row["label"] for row in run.rows("hb/consensus.csv"))),
    Requirement(ANSWERS, "ties are decided by skill on control items", "hb/baseline.json: resolved_by.skill",
        lambda run: run.metrics["resolved_by"]["skill"] > 0),
    Requirement(ANSWERS, "GLAD decides where skill does not", "hb/baseline.json: resolved_by.glad",
        lambda run: "glad" in run.metrics["resolved_by"]),

    Requirement(QUALITY, "a threshold on control items excludes annotators", "hb/annotators.csv: excluded",
        lambda run: [row["control_accuracy"] < "0.5" for row in run.rows("hb/annotators.csv") if row["excluded"] == "true"] == [True]),
    Requirement(QUALITY, "the excluded answers do not count", "hb/baseline.json: responses.dropped",
        lambda run: run.metrics["responses"]["used"] < 5 * ASKED and run.metrics["annotators"]["excluded"] == 1),

    Requirement(ERRORS, "items with a dubious gold answer are listed", "hb/doubtful.csv",
        lambda run: len(run.rows("hb/doubtful.csv")) == run.metrics["doubtful"]["items"]),
    Requirement(ERRORS, "errors of typing are counted apart from disagreement", "hb/baseline.json: doubtful.typing_errors",
        lambda run: "typing_errors" in run.metrics["doubtful"]),

    Requirement(SCORE, "the consensus is scored against the gold answers by the dataset's metric", "hb/baseline.json: metrics",
        lambda run: run.metrics["metrics"]["acc"]["n"] == ASKED and run.metrics["gold"]["matched"] == ASKED),
    Requirement(SCORE, "the metadata get the value under the metric's name", "hb/raw_dataset_meta.json: human_benchmark",
        lambda run: all(
            run.json("hb/raw_dataset_meta.json")[key] == {"Accuracy": round(arm["human_benchmark"]["metrics"]["acc"]["value"], 4)}
            for key, arm in (("human_benchmark", run.metrics), ("human_benchmark_expert", run.experts)))),

    Requirement(EXPERTS, "nobody is asked their own questions", "sheets: tasks.csv",
        lambda run: all(
            not {row["prompt"] for row in sheet(run, name)} & {one["prompt"] for one in run.items if one["meta"]["author"] == name}
            for name in AUTHORS)),
    Requirement(EXPERTS, "every sheet offers to skip a question that may be one's own", "sheets: instruction.html",
        lambda run: all(MINE in path.read_text(encoding="utf-8") for path in (run.root / "sheets").glob("*/instruction.html"))),
    Requirement(EXPERTS, "people without training do not read the rule for authors", "Toloka: instruction.html",
        lambda run: MINE not in run.text("export/instruction.html")),
    Requirement(EXPERTS, "skipped questions are counted", "hb/baseline.json: arms.experts.responses.dropped",
        lambda run: run.experts["responses"]["dropped"]["may_be_mine"] > 0),
    Requirement(EXPERTS, "the majority of the other experts decides", "hb/baseline.json: arms.experts.agreement.min_votes",
        lambda run: run.experts["agreement"]["min_votes"] == "majority" and run.experts["resolved_by"]["majority"] > 0.9 * ASKED),
    Requirement(EXPERTS, "the time for a question is limited", "study.yaml: arms.experts.time_limit",
        lambda run: run.plan["arms"]["experts"]["time_limit"] == 60 and "60 секунд" in instruction(run)),
    Requirement(EXPERTS, "the plan assumes 30 questions an hour", "study.yaml: arms.experts.items_per_hour",
        lambda run: run.plan["arms"]["experts"]["items_per_hour"] == 30),
    Requirement(EXPERTS, "each domain has its own value", "hb/baseline.json: arms.experts.groups",
        lambda run: {f"domain={name}: acc" for name in DOMAINS} <= {one["name"] for one in run.experts["groups"]}),

    Requirement(DONE, "the cards describe the method in Russian and English", "hb/raw_readme_*.json: Human baseline",
        lambda run: all(word in section(run) for word in (
            "Перекрытие — 5", "контрольных задани", "ниже 50", "нейросетями", "60 секунд", "голосов", "Альфа Криппендорфа",
            "доверительные интервалы", "доллар", "320 вопросов", "Экспертный human baseline.", MINE))
        and all(word in section(run, "en") for word in ("5 answers", "control items", "Krippendorff", "confidence interval", "$"))),
    Requirement(DONE, "the other sections of the cards stay", "hb/raw_readme_ru.json",
        lambda run: list(run.json("hb/raw_readme_ru.json"))[:2] == ["Описание задачи", "Мотивация"]),
    Requirement(DONE, "raw and aggregated answers are in hb/", "hb/raw/responses.csv, hb/consensus.csv",
        lambda run: len(run.rows("hb/raw/responses.csv")) == run.metrics["responses"]["total"] > 5 * ASKED),
    Requirement(DONE, "so are those of the experts", "hb/raw/experts/responses.csv, hb/experts/consensus.csv",
        lambda run: len(run.rows("hb/raw/experts/responses.csv")) > 3 * ASKED - 50 and not (
            {row["respondent"] for row in run.rows("hb/raw/experts/responses.csv")} & set(AUTHORS))),
    Requirement(DONE, "the total cost is reported for both groups apart", "hb/baseline.json: cost, arms.experts.cost",
        lambda run: run.metrics["cost"]["total"] > 0 and run.experts["cost"]["total"] > 0),
    Requirement(DONE, "the hourly pay follows from measured times", "hb/baseline.json: cost.hourly, arms.experts.cost.hourly",
        lambda run: all(arm["cost"]["hourly"] == pytest.approx(arm["cost"]["total"] / arm["cost"]["hours"], rel=1e-3)
                        for arm in (run.metrics, run.experts))),
    Requirement(DONE, "a message with costs and method is ready to send", "hb/cost_ru.md",
        lambda run: all(text in run.text("hb/cost_ru.md") for text in (
            "mera@a-ai.ru", "Общие затраты", "Базовый human baseline", "Экспертный human baseline", "Почасовая оплата", section(run)[:80]))
        and "сведений об оплате нет" not in run.text("hb/cost_ru.md")),
    Requirement(DONE, "every figure follows from the raw answers", "merilo verify",
        lambda run: run.verified.json["verified"] and run.verified.json["not_recomputed"] == []),
    Requirement(DONE, "the plan was fixed before the answers", "hb/raw/frozen.json, changes.json",
        lambda run: run.json("hb/raw/frozen.json")["date"] == "2026-11-22" and run.text("hb/raw/changes.json").strip() == "[]"),
]
# fmt: on


@pytest.mark.parametrize("one", REQUIREMENTS, ids=lambda one: f"{one.section}: {one.demand}")
def test_the_guide_demands_that(one: Requirement, run: GuideStudy) -> None:
    assert one.holds(run), f"{one.section}: {one.demand} ({one.met_by})"


def test_hb_has_exactly_the_files_that_the_documentation_names(run: GuideStudy) -> None:
    page = (Path(__file__).parent.parent / "docs" / "report.md").read_text(encoding="utf-8")
    files = {path.relative_to(run.hb).as_posix() for path in run.hb.rglob("*") if path.is_file()}
    raw = {"study.yaml", "frozen.json", "changes.json", "instruction.ru.md", "instruction.en.md"}
    assert {f"raw/{name}" for name in raw} <= files
    beside = {name.partition("/")[0] for name in files}
    assert len([name for name in files if "/" not in name]) <= 19
    for name in beside - {"experts"}:
        assert f"`{re.sub('_(en|ru)[.]', '_*.', name)}" in page, f"docs/report.md does not name {name}"


def test_the_notebook_runs_from_its_first_cell_to_its_last(run: GuideStudy) -> None:
    assert run_notebook(run.hb)["differences"] == []


def test_the_report_shows_both_groups_and_what_they_were_asked(run: GuideStudy) -> None:
    text = run.text("hb/report.html")
    assert "Arms of the study" in text
    assert "experts minus people: acc" in text
    assert re.search("<details[^>]*><summary>", text)
    assert 'class="instruction" lang="ru"' in text
    assert "The frozen plan" in text
    assert "Nothing was changed since." in text


def test_one_changed_answer_of_an_expert_is_found(run: GuideStudy, tmp_path: Path) -> None:
    shutil.copytree(run.hb, tmp_path / "hb")
    path = tmp_path / "hb" / "raw" / "experts" / "responses.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if MINE in line)
    lines[place] = lines[place].replace(MINE, "A", 1)
    path.write_text("".join(lines), encoding="utf-8", newline="")
    found = merilo("verify", tmp_path / "hb", "--json", "-")
    assert found.status == 1
    names = {one["name"] for one in found.json["differences"]}
    assert {"raw/experts/responses.csv", "arms.experts.responses.dropped.may_be_mine"} <= names


def test_no_file_of_hb_names_a_person_or_a_folder_of_this_machine(run: GuideStudy) -> None:
    for path in run.hb.rglob("*"):
        if path.is_file():
            assert str(run.root).encode() not in path.read_bytes(), path.name


def test_the_margin_of_the_frozen_plan_is_read_from_the_published_folder(run: GuideStudy) -> None:
    assert planned_margin(run.hb) == Margin(run.plan["baseline"]["margin"], "2026-11-22")


# The documents, statement by statement: 000 the human baselines, 002 the guide, 003 ruHumanEval, 004 the USE. A statement is shown by rows
# of `REQUIREMENTS` (their demand) or by tests of other files (path below tests/ and name).

_TABLE = (
    "reports/test_human_table.py::test_every_published_figure_of_the_catalogue_is_in_the_table_with_its_kind"
)
_POOLS = "baselines/test_real_pools.py::test_people_items_and_majorities_are_those_of_the_published_analysis"
_ROAD = "test_roads.py::test_a_dataset_goes_from_its_file_to_the_comparison_with_a_model"
_SOURCES = "datasets/test_catalogue.py::test_every_dataset_says_where_its_human_figure_comes_from"
_FIGURES = "datasets/test_catalogue.py::test_the_published_figures_are_in_the_catalogue"
_ITEMS = "datasets/validation/test_validation.py::test_items_of_a_known_dataset_are_as_it_declares"
_USE = "datasets/validation/test_validation.py::test_the_rules_of_the_exam"
_POINTS = "metrics/test_exam.py::test_"
_PASS = "metrics/test_pass_at_k.py::test_"
_PAIRS = "baselines/test_real_pools.py::test_pairs_of_rudetox_that_all_three_projects_accept_are_the_published_ones"
_ARMS = "baselines/test_arms.py::test_"
_DRAW = "studies/test_drawing.py::test_"
_EXPERTS = "test_expert_road.py::test_"
_CLOSED = "reports/test_withheld_gold.py::test_"

# fmt: off
STATEMENTS: dict[str, tuple[str, ...]] = {
    "000.1": ("test_roads.py::test_every_dataset_of_the_catalogue_has_a_road",),
    "000.2": (_POOLS, "baselines/test_real_pools.py::test_people_who_saw_the_dialogue_of_rutie_and_gold_of_every_turn"),
    "000.3": ("people see the text that models receive", "studies/test_instruction.py::test_every_label_has_its_meaning_and_an_example",
              "studies/test_instruction.py::test_programmers_are_told_how_much_to_write_and_not_to_run_it",
              "test_roads.py::test_pairs_of_rudetox_are_judged_in_three_projects_and_the_accepted_ones_are_scored"),
    "000.4": (_SOURCES,),
    "000.5": (_SOURCES,),
    "000.6": ("a part of the items may be asked",),
    "000.7": ("five people answer every item", _POOLS),
    "000.8": ("they stand at regular intervals",),
    "000.9": ("a threshold on control items excludes annotators", _POOLS),
    "000.10": ("a majority of 5 answers is 3", _POOLS),
    "000.11": ("people/aggregation/test_cascade.py::test_ties_can_go_to_glad_at_once_and_the_published_procedure_is_one_option_away",),
    "000.12": ("the consensus is scored against the gold answers by the dataset's metric", _ROAD),
    "000.13": ("test_guide.py::test_the_notebook_runs_from_its_first_cell_to_its_last",
               "datasets/test_catalogue.py::test_fifteen_datasets_count_in_the_total_and_the_diagnostic_ones_are_open"),
    "000.14": ("reports/test_withheld_gold.py::test_no_byte_of_the_folder_has_a_gold_answer_that_nobody_gave",
               "reports/test_withheld_gold.py::test_with_gold_everything_is_there_and_recomputed"),
    "000.15": (_TABLE,),
    "000.16": (_TABLE,),
    "000.17": (_TABLE,),
    **{f"000.{number}": (_FIGURES, _TABLE) for number in range(18, 39)},
    "000.39": (_TABLE, "datasets/test_catalogue.py::test_ruethics_has_its_fifteen_correlations"),
    "000.40": (_POOLS,),
    "000.41": (_PAIRS,),
    "000.42": (_PAIRS,),
    # The classifiers' weights cannot be loaded here: the formula is shown, and the loading code on small models (marked `torch`).
    "000.43": ("metrics/test_detox.py::test_j_multiplies_before_it_averages",
               "metrics/test_detox.py::test_batches_give_what_each_sentence_gives_alone"),
    "000.44": ("datasets/test_catalogue.py::test_ruethics_has_its_fifteen_correlations", _ROAD),
    "000.45": ("datasets/test_catalogue.py::test_ruethics_has_its_fifteen_correlations",),
    "000.46": (_FIGURES, "cli/test_code_score.py::test_pass_at_k_stands_with_its_interval_and_its_problems"),
    "000.47": (_SOURCES, _FIGURES),
    "000.48": ("datasets/test_catalogue.py::test_the_published_figures_are_in_the_catalogue",),

    "002.1": ("the plan was fixed before the answers", "datasets/validation/test_validation.py::test_each_fault_is_found_at_its_place"),
    "002.2": ("the knowledge skills decide between a basic and an expert test",),
    "002.3": ("an expert test asks experts and people without training",),
    "002.4": ("people see the text that models receive", "models/test_pool_to_model.py::test_a_server_is_sent_exactly_the_items_that_people_saw"),
    "002.5": ("a training explains the work", "the task is explained in both languages"),
    "002.6": ("the author's own restrictions stand in the instruction too", "the restrictions reach the people on the platform"),
    "002.7": ("search, calculators and neural networks are forbidden",),
    "002.8": ("the task is explained in both languages",
              "studies/test_instruction.py::test_every_dataset_of_the_catalogue_says_what_to_do_in_both_languages",
              "studies/test_instruction.py::test_the_exam_unfolds_one_short_example_of_every_form"),
    "002.9": ("studies/test_instruction.py::test_every_label_has_its_meaning_and_an_example",),
    "002.10": ("examples show every kind of answer", "examples show every domain; what they do not show is named"),
    "002.11": ("people see the text that models receive",),
    "002.12": ("test_roads.py::test_an_own_dataset_with_pictures_and_training_is_answered_after_a_careless_person_is_stopped",),
    "002.13": ("people answer by the labels of models",),
    "002.14": ("the task shows no solved examples",),
    "002.15": ("five people answer every item",),
    "002.16": ("a crowd platform is used, and named", "test_guide.py::test_every_platform_of_the_guide_is_in_the_docs"),
    "002.17": ("the number of tasks on a page is the author's choice",
               "studies/test_round_trip.py::test_pages_of_several_tasks_come_back_as_pages_from_the_platforms_that_have_them",
              "site/test_several_on_screen.py::test_a_page_is_answered_by_keys_saved_partly_and_nothing_typed_is_lost"),
    "002.18": ("their answers are known beforehand",),
    "002.19": ("one task in twenty is a control item",
              _EXPERTS + "honest_experts_of_five_domains_are_kept_and_get_the_plans_share_of_controls"),
    "002.20": ("they stand at regular intervals", "nobody meets one twice",
              _EXPERTS + "experts_get_the_plans_share_of_control_items_of_their_own_domains"),
    "002.21": ("answers to them give each annotator's skill",),
    "002.22": ("they look like items of the test",),
    "002.23": ("a part of the items may be asked", "studies/test_drawing.py::test_small_datasets_are_asked_whole_and_exams_are_never_cut"),
    "002.24": ("studies/test_drawing.py::test_a_thousand_of_ten_thousand_items_keep_every_field_within_one_percentage_point",),
    "002.25": ("the part has the distribution of domains and classes", "further fields are kept where they can be"),
    "002.26": ("answers are aggregated by majority", "or by Dawid and Skene's model"),
    "002.27": ("the allowed share is decided beforehand",),
    "002.28": ("the figure on items with a majority is given", "the metadata get the value under the metric's name",
              _CLOSED + "the_metadata_have_the_value_that_the_settings_choose"),
    "002.29": ("the share is reported, and the baseline is accepted below it",
               "baselines/test_real_pools.py::test_lcs_is_rejected_with_its_value"),
    "002.30": ("every item gets an answer", _ARMS + "an_item_that_every_expert_skipped_stays_without_a_label"),
    "002.31": ("ties are decided by skill on control items",),
    "002.32": ("GLAD decides where skill does not",),
    "002.33": ("a threshold on control items excludes annotators",),
    "002.34": ("the excluded answers do not count",),
    "002.35": ("items with a dubious gold answer are listed",
               "baselines/test_doubtful_items.py::test_who_disagrees_everywhere_is_named",
              "baselines/test_other_datasets.py::test_the_command_names_them_and_its_folder_verifies"),
    "002.36": ("baselines/test_doubtful_items.py::test_no_item_is_doubtful_after_its_gold_is_corrected",),
    "002.37": ("errors of typing are counted apart from disagreement",
               "people/test_typing_errors.py::test_a_factor_of_ten_is_found_both_ways"),
    "002.38": ("the consensus is scored against the gold answers by the dataset's metric", "the metadata get the value under the metric's name",
              _CLOSED + "the_metadata_have_the_value_that_the_settings_choose"),
    "002.39": ("the metadata get the value under the metric's name",),
    "002.40": (_ARMS + "experts_who_saw_nothing_are_an_arm_like_any_other",),
    "002.41": ("nobody is asked their own questions",),
    "002.42": ("studies/test_drawing.py::test_the_guides_draw_for_experts_takes_as_many_items_of_each_domain",),
    "002.43": (_DRAW + "a_sample_is_even_over_subdomains_and_within_them_over_difficulty",),
    "002.44": (_EXPERTS + "an_expert_gets_the_items_of_their_domains_without_their_own",),
    "002.45": ("every sheet offers to skip a question that may be one's own", _ARMS + "the_guides_wording_is_no_vote"),
    "002.46": ("skipped questions are counted",),
    "002.47": ("the time for a question is limited",),
    "002.48": (_ARMS + "an_item_keeps_n_less_k_answers_and_their_majority_decides",
               _EXPERTS + "an_item_has_n_minus_k_answers_and_those_who_wrote_it_are_counted"),
    "002.49": ("the majority of the other experts decides",),
    "002.50": ("the plan assumes 30 questions an hour",),
    "002.51": ("the plan assumes 30 questions an hour",),
    "002.52": ("the cards describe the method in Russian and English",
              "studies/test_instruction.py::test_a_restriction_appears_in_its_own_languages_only"),
    "002.53": ("the cards describe the method in Russian and English",
              "reports/test_readme_section.py::test_every_detail_of_the_guide_is_told_in_both_languages",
              _EXPERTS + "the_card_says_who_answered_what_and_for_how_much"),
    "002.54": ("the metadata get the value under the metric's name",
              _CLOSED + "the_metadata_have_the_value_that_the_settings_choose"),
    "002.55": ("raw and aggregated answers are in hb/", "so are those of the experts",
              _CLOSED + "experts_bring_no_gold_answer_either"),
    "002.56": ("test_guide.py::test_the_notebook_runs_from_its_first_cell_to_its_last",
              _CLOSED + "experts_bring_no_gold_answer_either"),
    "002.57": ("a message with costs and method is ready to send",),
    "002.58": ("the total cost is reported for both groups apart",),
    "002.59": ("the total cost is reported for both groups apart",
              "reports/test_cost_report.py::test_the_whole_project_costs_the_pay_and_the_commission_of_the_platform"),
    "002.60": ("the hourly pay follows from measured times",),

    "003.1": (_ITEMS,),
    "003.2": ("submissions/test_scoring_submissions.py::test_programs_come_plain_or_in_one_more_list",),
    "003.3": (_FIGURES,),
    "003.4": ("datasets/test_bundled_content.py::test_a_group_has_ten_prompts_that_differ_in_more_than_punctuation",),
    "003.5": ("datasets/test_catalogue.py::test_fifteen_datasets_count_in_the_total_and_the_diagnostic_ones_are_open",),
    "003.6": ("test_guide.py::test_the_docs_say_that_ruhumaneval_is_not_comparable_with_humaneval",),
    "003.7": (_PASS + "it_is_the_share_of_choices_that_hold_a_right_program", _PASS + "it_is_the_product_of_the_paper"),
    "003.8": (_PASS + "it_is_the_product_of_the_paper", "cli/test_code_score.py::test_a_k_with_too_few_generations_is_refused_and_the_others_are_answered"),
    "003.9": (_PASS + "the_judgement_tells_the_score", "sandbox/test_verdicts.py::test_a_program_passes_exactly_when_every_answer_is_the_gold"),
    "003.10": (_FIGURES,),

    "004.1": ("datasets/validation/test_validation.py::test_the_rules_of_the_exam",),
    "004.2": (_USE,),
    "004.3": ("datasets/test_bundled_content.py::test_use_golds_have_the_form_of_their_type",),
    "004.4": (_ITEMS, "datasets/validation/test_validation.py::test_the_rules_of_the_exam"),
    "004.5": ("datasets/validation/test_validation.py::test_variants_of_the_dev_split_must_be_whole_under_either_of_its_names",),
    "004.6": ("datasets/test_bundled_content.py::test_a_group_has_ten_prompts_that_differ_in_more_than_punctuation",),
    "004.7": ("datasets/test_bundled_content.py::test_a_use_answer_of_two_words_is_right_in_either_order", _POINTS + "text_compares_letters_only"),
    "004.8": (_POINTS + "other_choices_are_all_or_nothing", _POINTS + "text_compares_letters_only"),
    "004.9": (_POINTS + "task_16_is_the_enumeration_of_its_rule",),
    "004.10": (_POINTS + "matching_counts_positions",),
    "004.11": (_POINTS + "a_complete_variant_is_thirty_items_and_34_points", _POINTS + "the_norm_is_the_mean_over_variants"),
    "004.12": (_POINTS + "incomplete_variants_and_those_nobody_sat_do_not_count",),
    "004.13": ("datasets/test_catalogue.py::test_the_published_figures_are_in_the_catalogue",),
}
# fmt: on


def test_every_statement_of_the_documents_is_shown_by_a_test_that_exists() -> None:
    numbers = {"000": 48, "002": 60, "003": 10, "004": 13}
    assert list(STATEMENTS) == [
        f"{document}.{number}" for document, last in numbers.items() for number in range(1, last + 1)
    ]
    demands = {one.demand for one in REQUIREMENTS}
    for number, places in STATEMENTS.items():
        for place in places:
            path, _, name = place.partition("::")
            if name:
                text = (Path(__file__).parent / path).read_text(encoding="utf-8")
                assert f"\ndef {name}(" in text, f"{number}: {path} has no test {name}"
            else:
                assert place in demands, f"{number}: no requirement says '{place}'"


def test_every_platform_of_the_guide_is_in_the_docs() -> None:
    page = (DOCS / "study-platforms.md").read_text(encoding="utf-8")
    assert all(name in page for name in ("Toloka", "ABC Elementary", "Яндекс Задания", "TagME"))


def test_the_docs_say_that_ruhumaneval_is_not_comparable_with_humaneval() -> None:
    page = " ".join((DOCS / "datasets.md").read_text(encoding="utf-8").split())
    assert "results on it and on the English HumanEval cannot be compared directly" in page
