"""Logs in which options stand in another order than in the dataset score the same as those in its own order."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from harness_files import (
    data_of,
    inspect_log,
    inspect_sample,
    items_of,
    lm_eval_choice,
    lm_eval_text,
    written,
)

from merilo import score
from merilo.errors import DataError
from merilo.items import Item

NAME = "ruworldtree"
LETTERS = "ABCD"
Order = Callable[[int], Sequence[int]]

#: Order of the options by the number of an item.
ORDERS: dict[str, Order] = {
    "own": lambda _: range(4),
    "reversed": lambda _: (3, 2, 1, 0),
    "another for each item": lambda at: [(at + place) % 4 for place in range(4)],
}


def options_of(item: Item, order: Sequence[int]) -> list[str]:
    own = [str(item.inputs[f"option_{letter.lower()}"]) for letter in LETTERS]
    return [own[place] for place in order]


def letters_of(at: int, item: Item, order: Sequence[int]) -> tuple[str, str]:
    """The right letter as the model saw it, and its answer: wrong for every third item."""
    right = [*order].index(LETTERS.index(str(item.outputs)))
    return LETTERS[right], LETTERS[(right + (at % 3 == 0)) % 4]


def prompt_of(item: Item, options: Sequence[str], mark: str = "{}) ") -> str:
    listed = "\n".join(mark.format(letter) + text for letter, text in zip(LETTERS, options, strict=True))
    solved = "Вопрос: 1?\n" + "\n".join(
        mark.format(one) + text for one, text in zip("ABCD", options[::-1], strict=True)
    )
    return f"{solved}\nОтвет: A\n\n{item.inputs['question']}\n{listed}\nОтвет:"


def inspect_choices(order: Order, folder: Path) -> Path:
    samples = []
    for at, item in enumerate(items_of(NAME)):
        right, answer = letters_of(at, item, order(at))
        choices = options_of(item, order(at))
        asked = {"choices": choices, "input": item.inputs["question"], "target": right}
        samples.append(inspect_sample(item.id, f"ANSWER: {answer}", **asked))
    return inspect_log(folder / "log.json", samples)


def inspect_prompts(order: Order, folder: Path) -> Path:
    samples = []
    for at, item in enumerate(items_of(NAME)):
        right, answer = letters_of(at, item, order(at))
        asked = {"input": prompt_of(item, options_of(item, order(at)), "({}) "), "target": right}
        samples.append(inspect_sample(item.id, f"Ответ: {answer}", **asked))
    return inspect_log(folder / "log.json", samples)


def lm_eval_texts(order: Order, folder: Path) -> Path:
    """Log-likelihoods of the texts of options."""
    return _lm_eval_likelihoods(order, folder, lambda options: options)


def lm_eval_letters(order: Order, folder: Path) -> Path:
    """Log-likelihoods of letters, which mean the options behind them in the prompt."""
    return _lm_eval_likelihoods(order, folder, lambda _: LETTERS)


def _lm_eval_likelihoods(order: Order, folder: Path, choices: Callable[[list[str]], Sequence[str]]) -> Path:
    rows = []
    for at, item in enumerate(items_of(NAME)):
        right, answer = letters_of(at, item, order(at))
        options = options_of(item, order(at))
        row = lm_eval_choice(
            at, NAME, item, answer, target=str(LETTERS.index(right)), acc=float(right == answer)
        )
        for place, choice in enumerate(choices(options)):
            prompt = prompt_of(item, options)
            row["arguments"][f"gen_args_{place}"] = {"arg_0": prompt, "arg_1": f" {choice}"}
        rows.append(row)
    return written(folder / "samples.jsonl", rows)


def lm_eval_replies(order: Order, folder: Path) -> Path:
    rows = []
    for at, item in enumerate(items_of(NAME)):
        right, answer = letters_of(at, item, order(at))
        row = lm_eval_text(at, NAME, item, f"Ответ: {answer}", target=right)
        row["arguments"]["gen_args_0"]["arg_0"] = prompt_of(item, options_of(item, order(at)), "**{}.** ")
        rows.append(row)
    return written(folder / "samples.jsonl", rows)


def table(order: Order, folder: Path) -> Path:
    rows = [
        {
            "id": item.id,
            "reply": f"Ответ: {letters_of(at, item, order(at))[1]}",
            "options": options_of(item, order(at)),
        }
        for at, item in enumerate(items_of(NAME))
    ]
    return written(folder / "replies.jsonl", rows)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "log", [inspect_choices, inspect_prompts, lm_eval_texts, lm_eval_letters, lm_eval_replies, table]
)
def test_every_order_of_the_options_scores_the_same(
    log: Callable[[Order, Path], Path], order: str, tmp_path: Path
) -> None:
    items = items_of(NAME)
    found = score(log(ORDERS[order], tmp_path), dataset=NAME, data=data_of(NAME, tmp_path))
    assert found.answered == len(items)
    wrong = len(range(0, len(items), 3))
    assert found.metrics["acc"].value == pytest.approx(1 - wrong / len(items))


@pytest.mark.parametrize("has_options", [True, False])
def test_a_table_without_options_says_what_its_letters_mean(has_options: bool, tmp_path: Path) -> None:
    item = items_of(NAME)[0]
    row = {"id": item.id, "reply": "Ответ: A"} | (
        {"options": options_of(item, range(4))} if has_options else {}
    )
    scored = score(written(tmp_path / "replies.jsonl", [row]), dataset=NAME, data=data_of(NAME, tmp_path))
    told = "1 reply does not say in which order the model saw the options, so a letter means the item's own option"
    assert any(told in sentence for sentence in scored.warnings) != has_options


def hidden(log: Callable[[Order, Path], Path], order: Order, folder: Path) -> Path:
    """The same log, in whose prompts the options have no letters."""
    path = log(order, folder)
    text = path.read_text(encoding="utf-8")
    for mark in ("{}) ", "({}) ", "**{}.** "):
        for letter in LETTERS:
            text = text.replace("\\n" + mark.format(letter), "\\n")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("log", [inspect_prompts, lm_eval_letters, lm_eval_replies])
def test_an_order_that_is_not_shown_is_refused_where_the_right_answers_contradict_it(
    log: Callable[[Order, Path], Path], tmp_path: Path
) -> None:
    data = data_of(NAME, tmp_path)
    assert score(hidden(log, ORDERS["own"], tmp_path), dataset=NAME, data=data).metrics["acc"].value > 0
    with pytest.raises(
        DataError, match=r"do not show in which order the model saw the options: give the replies"
    ):
        score(hidden(log, ORDERS["reversed"], tmp_path), dataset=NAME, data=data)


def test_labels_that_mean_the_opposite_are_refused(tmp_path: Path) -> None:
    """A task of its own that calls balanced brackets 0."""

    def rows(turned: bool) -> list[dict[str, Any]]:
        return [
            lm_eval_text(at, "bps", item, str(item.outputs), target=str(abs(turned - int(item.outputs))))
            | {"arguments": {"gen_args_0": {"arg_0": f"Brackets: {item.inputs}", "arg_1": {}}}}
            for at, item in enumerate(items_of("bps"))
        ]

    data = data_of("bps", tmp_path)
    log = written(tmp_path / "a.jsonl", rows(False))
    assert score(log, dataset="bps", data=data).metrics["acc"].value == 1
    with pytest.raises(DataError, match="counts another label as right"):
        score(written(tmp_path / "b.jsonl", rows(True)), dataset="bps", data=data)
