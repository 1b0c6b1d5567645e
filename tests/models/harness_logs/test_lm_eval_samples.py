"""Samples of lm-eval, in the shapes of its versions."""

import json
from pathlib import Path

import pytest
from command import merilo
from harness_files import data_of, items_of, lm_eval_choice, lm_eval_text, written

from merilo import score
from merilo.errors import DataError, InputError


def scored(log: Path, name: str):
    return score(log, dataset=name, data=data_of(name, log.parent))


def test_equal_loglikelihoods_give_no_answer_and_are_counted(tmp_path: Path) -> None:
    items = items_of("parus")
    rows = [lm_eval_choice(at, "parus", item, "neither") for at, item in enumerate(items)]
    log = written(tmp_path / "s.jsonl", rows)
    with pytest.raises(
        DataError, match=rf"not one of {len(items)} answers can be read \(unreadable: {len(items)}\)"
    ):
        scored(log, "parus")
    found = score(log, dataset="parus", data=data_of("parus", tmp_path), force=True)
    assert found.metrics["acc"].value == 0
    assert found.answers.outcomes == {"unreadable": len(items)}
    assert f"warning: {len(items)} of {len(items)} answers cannot be read" in repr(found)
    assert found.to_dict()["warnings"] == [*found.warnings]


def foreign(choices: list[str], label_of: list[str], *, target: bool = True, wrong: int = 0) -> list[dict]:
    """Rows of a task with choices of its own; the model is wrong in the first `wrong` rows."""
    rows = []
    for at, item in enumerate(items_of("parus")):
        right = label_of.index(str(item.outputs))
        likeliest = right if at >= wrong else 1 - right
        row = lm_eval_choice(at, "parus", item, "", target=str(right), acc=float(at >= wrong))
        for place, choice in enumerate(choices):
            row["arguments"][f"gen_args_{place}"]["arg_1"] = f" {choice}"
            row["resps"][place] = [["-0.5" if place == likeliest else "-2.5", "False"]]
        if not target:
            del row["target"], row["acc"]
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("choices", "label_of", "target"),
    [
        (["верно", "неверно"], ["1", "2"], True),
        (["A", "B"], ["1", "2"], False),
        (["0", "1"], ["1", "2"], False),
        (["а)", "б)"], ["1", "2"], False),
    ],
)
def test_choices_of_the_harness_stand_for_the_labels_in_their_order(
    choices: list[str], label_of: list[str], target: bool, tmp_path: Path
) -> None:
    log = written(tmp_path / "s.jsonl", foreign(choices, label_of, target=target, wrong=3))
    found = scored(log, "parus")
    assert found.metrics["acc"].value == 5 / 8
    assert any("the choices are not the dataset's labels" in note for note in found.answers.source.notes)


def test_choices_that_nothing_explains_or_the_right_answers_contradict_are_refused(tmp_path: Path) -> None:
    silent = written(tmp_path / "a.jsonl", foreign(["верно", "неверно"], ["1", "2"], target=False))
    with pytest.raises(
        DataError, match=r"no labels of the dataset \('верно', 'неверно'\), and no right answers"
    ):
        scored(silent, "parus")
    for choices in (["верно", "неверно"], ["A", "B"]):
        turned = written(tmp_path / "b.jsonl", foreign(choices, ["2", "1"]))
        with pytest.raises(DataError, match="counts another label as right"):
            scored(turned, "parus")


def test_another_right_answer_than_the_items_is_told(tmp_path: Path) -> None:
    rows = [
        lm_eval_choice(at, "parus", item, "1", target="1", acc=1.0)
        for at, item in enumerate(items_of("parus"))
    ]
    log = written(tmp_path / "s.jsonl", rows)
    wrong = sum(item.outputs != "1" for item in items_of("parus"))
    notes = scored(log, "parus").answers.source.notes
    assert any(f"in {wrong} of 8 rows the log counts another answer as right" in note for note in notes)


def test_loglikelihoods_without_the_prompt_do_not_decide(tmp_path: Path) -> None:
    """`acc_mutual_info` asks for the continuations a second time, without the prompt."""
    item = items_of("parus")[0]
    row = lm_eval_choice(0, "parus", item, "2")
    for at, score_alone in enumerate(("-0.1", "-9.0")):
        row["arguments"][f"gen_args_{at + 2}"] = {"arg_0": "", "arg_1": f" {at + 1}"}
        row["resps"].append([[score_alone, "False"]])
    found = scored(written(tmp_path / "s.jsonl", [row]), "parus")
    assert [row.answer for row in found.answers.rows] == ["2"]


def test_each_filter_repeats_the_documents_and_counts_once(tmp_path: Path) -> None:
    items = items_of("parus")
    rows = [
        lm_eval_text(at, "parus", item, str(item.outputs), filter=name, filtered_resps=["nonsense"])
        for name in ("strict-match", "flexible-extract")
        for at, item in enumerate(items)
    ]
    found = scored(written(tmp_path / "s.jsonl", rows), "parus")
    assert (found.metrics["acc"].value, found.answers.source.rows) == (1, len(items))


def test_repeats_are_samples_and_the_score_is_the_mean_over_all(tmp_path: Path) -> None:
    items = items_of("parus")
    rows = [lm_eval_text(at, "parus", item, str(item.outputs), "3", "") for at, item in enumerate(items)]
    found = scored(written(tmp_path / "s.jsonl", rows), "parus")
    accuracy = found.metrics["acc"]
    assert (accuracy.value, accuracy.n, accuracy.answers) == (pytest.approx(1 / 3), 8, 24)
    assert found.answers.outcomes == {"answered": 8, "unreadable": 8, "empty": 8}


def test_the_first_versions_wrote_lists_and_numbers(tmp_path: Path) -> None:
    """0.4.0 to 0.4.2: an indented JSON list in a file called .jsonl, requests as lists, log-likelihoods as numbers."""
    rows = []
    for at, item in enumerate(items_of("parus")):
        row = lm_eval_choice(at, "parus", item, "1")
        row["arguments"] = [["prompt", " 1"], ["prompt", " 2"]]
        row["resps"] = [[[-0.5, True]], [[-2.5, False]]]
        row["filtered_resps"] = [[-0.5, True], [-2.5, False]]
        del row["filter"]
        rows.append(row)
    log = tmp_path / "pretrained__model_parus.jsonl"
    log.write_text(json.dumps(rows, indent=2, ensure_ascii=False), encoding="utf-8")
    assert {row.answer for row in scored(log, "parus").answers.rows} == {"1"}


def test_a_log_without_raw_answers_gives_those_after_the_filter(tmp_path: Path) -> None:
    row = lm_eval_text(0, "parus", items_of("parus")[0], "1")
    del row["resps"]
    assert [row.answer for row in scored(written(tmp_path / "s.jsonl", [row]), "parus").answers.rows] == ["1"]


def test_the_model_is_named_by_the_results_beside_the_samples(tmp_path: Path) -> None:
    date = "2026-01-02T10-20-30.123456"
    rows = [lm_eval_choice(0, "parus", items_of("parus")[0], "1")]
    log = written(tmp_path / f"samples_my_parus_{date}.jsonl", rows)
    (tmp_path / f"results_{date}.json").write_text(json.dumps({"results": {}, "model_name": "org/m"}))
    found = scored(log, "parus").answers.source
    assert (found.task, found.model) == ("my_parus", "org/m")
    (tmp_path / f"results_{date}.json").write_text("{broken")
    assert scored(log, "parus").answers.source.model is None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"resps": [[["-1.0", "False"]]], "arguments": {"gen_args_0": {"arg_0": "p", "arg_1": " x"}}}, "one log-likelihood"),
        ({"resps": [["a"], ["b"]]}, "2 requests without log-likelihoods"),
        ({"resps": [], "filtered_resps": []}, "0 requests"),
        ({"resps": [[{"text": "a"}]]}, "the answer is not a text"),
        ({"arguments": {"gen_args_0": {"arg_0": "p", "arg_1": " x"}}}, "of different number"),
    ],
)  # fmt: skip
def test_rows_that_give_no_answer_are_refused_with_their_place(
    change: dict, complaint: str, tmp_path: Path
) -> None:
    rows = [lm_eval_choice(at, "parus", item, "1") for at, item in enumerate(items_of("parus")[:2])]
    log = written(tmp_path / "s.jsonl", [rows[0], {**rows[1], **change}])
    with pytest.raises(InputError, match=f"s.jsonl, row 2.*{complaint}"):
        scored(log, "parus")


def test_results_without_samples_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "results_2026-01-02.json"
    path.write_text(json.dumps({"results": {"parus": {}}, "n-shot": {"parus": 0}}))
    done = merilo("score", path, "--dataset", "parus", "--data", data_of("parus", tmp_path))
    assert done.status == 2
    assert "--log_samples" in done.complaint


def test_a_folder_gives_its_one_log_of_the_dataset(tmp_path: Path) -> None:
    out = tmp_path / "out" / "org__model"
    out.mkdir(parents=True)
    for name in ("parus", "rcb"):
        rows = [lm_eval_choice(at, name, item, "1") for at, item in enumerate(items_of(name))]
        written(out / f"samples_{name}_2026-01-02T10-20-30.1.jsonl", rows)
    (out / "results_2026-01-02T10-20-30.1.json").write_text('{"results": {}, "n-shot": {}}')
    found = score(tmp_path / "out", dataset="parus", data=data_of("parus", tmp_path))
    assert found.answers.source.task == "parus"
    written(
        out / "samples_parus_2026-01-03T10-20-30.1.jsonl",
        rows := [lm_eval_choice(0, "parus", items_of("parus")[0], "1")],
    )
    with pytest.raises(DataError, match="holds 2 logs with items of the dataset: name one of them"):
        score(tmp_path / "out", dataset="parus", data=data_of("parus", tmp_path))
    with pytest.raises(DataError, match="holds 3 logs, and none of them has items of the dataset"):
        score(tmp_path / "out", dataset="bps", data=data_of("bps", tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        score(tmp_path / "empty", dataset="bps", data=data_of("bps", tmp_path))
    assert rows
