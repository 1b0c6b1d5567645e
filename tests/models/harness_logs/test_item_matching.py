"""Which item a row of a log belongs to."""

from dataclasses import replace
from pathlib import Path

import pytest
from command import merilo
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
from merilo.errors import InputError


def scored(log: Path, name: str):
    return score(log, dataset=name, data=data_of(name, log.parent))


@pytest.mark.parametrize(
    "name", ["bps", "chegeka", "multiq", "rwsd", "use", "simplear", "rucodeeval", "ruworldtree", "ruhhh"]
)
def test_the_inputs_of_every_kind_of_dataset_name_the_item(name: str, tmp_path: Path) -> None:
    from merilo.datasets import dataset
    from merilo.datasets.rendering import render
    from merilo.models.asking import ModelReply
    from merilo.models.log_formats import LogRow, texts_of
    from merilo.models.reply_files import ItemFinder

    items = items_of(name)
    finder = ItemFinder(dataset(name), {str(item.id): item for item in items})
    reply = ModelReply(text="x")
    for place, item in enumerate(items):
        prompt = render(item, dataset(name))
        inputs = item.inputs if isinstance(item.inputs, str) else dict(item.inputs)
        for texts in (tuple(texts_of(inputs)), (prompt,), (f"Задание.\n\n{prompt}\n",)):
            found = finder.find(LogRow(row=1, ids=(), texts=texts, prompt=prompt, reply=reply))
            assert (found.place, found.by) == (place, "inputs"), (item.id, texts)


@pytest.mark.parametrize("shown", ["inputs", "prompt", "prompt after a solved item", "another prompt"])
def test_no_row_of_short_and_repeated_inputs_is_lost(shown: str, tmp_path: Path) -> None:
    """Sequences of brackets repeat, stand within each other, and one of them is the `{}` of the instruction."""
    from merilo.datasets import dataset
    from merilo.datasets.dataset_files import read_split
    from merilo.datasets.rendering import bare_parts, render

    declared, data = dataset("bps"), tmp_path / "bps.json"
    assert merilo("datasets", "generate", "bps", "--seed", "1", "--size", "400", "--out", data).status == 0
    items = list(read_split(data))
    assert len({item.inputs for item in items}) < 400
    rows = []
    for at, item in enumerate(items):
        bare = "".join(map(str, bare_parts(item, declared)))
        prompt = {
            "inputs": "",
            "prompt": render(item, declared),
            "prompt after a solved item": f"{render(items[5], declared)} 1\n\n{bare}",
            "another prompt": f"Это последовательность правильная?\n{item.inputs}\n0 или 1?",
        }[shown]
        row = lm_eval_text(at, "bps", item, str(item.outputs), doc={"query": prompt or item.inputs})
        row["arguments"]["gen_args_0"]["arg_0"] = prompt
        rows.append(row)
    found = score(written(tmp_path / "s.jsonl", rows), dataset="bps", data=data)
    assert (found.answered, found.metrics["acc"].value) == (400, 1)


def test_an_id_with_other_inputs_is_another_version_of_the_item(tmp_path: Path) -> None:
    items = items_of("parus")
    rows = [lm_eval_choice(at, "parus", item, "1") for at, item in enumerate(items)]
    changed = replace(items[0], inputs={**items[0].inputs, "premise": "Совсем другое предложение."})
    rows[0] = lm_eval_choice(0, "parus", changed, "1")
    found = scored(written(tmp_path / "s.jsonl", rows), "parus")
    assert found.unanswered == (items[0].id,)
    assert dict(found.answers.source.unmatched) == {"other inputs": 1}
    assert any("the id of an item but other inputs: 1" in told for told in found.answers.sentences())


def test_ids_of_another_numbering_give_way_to_the_inputs(tmp_path: Path) -> None:
    items = items_of("parus")
    shifted = [replace(item, meta={**item.meta, "id": items[at - 1].id}) for at, item in enumerate(items)]
    log = written(
        tmp_path / "s.jsonl",
        [lm_eval_text(at, "parus", item, str(item.outputs)) for at, item in enumerate(shifted)],
    )
    found = scored(log, "parus")
    assert found.metrics["acc"].value == 1
    assert dict(found.answers.source.matched) == {"inputs": len(items)}


@pytest.mark.parametrize("form", ["harness", "merilo"])
def test_a_prompt_with_solved_items_before_it_is_the_datasets(form: str, tmp_path: Path) -> None:
    """After solved items the question stands in its bare form."""
    from merilo.datasets import dataset
    from merilo.datasets.bundled_items import examples
    from merilo.models.prompter import Prompter
    from merilo.settings import RunSettings

    declared = dataset("parus")
    settings = RunSettings.of({"shots": 2, "prompts": form})
    solved = examples(declared)["shots"].items
    prompter = Prompter(declared, solved, settings, chat=False, items=items_of("parus"))
    rows = [lm_eval_choice(at, "parus", item, "1") for at, item in enumerate(items_of("parus"))]
    for row, item in zip(rows, items_of("parus"), strict=True):
        row["arguments"]["gen_args_0"]["arg_0"] = prompter.request(item).prompt
    found = scored(written(tmp_path / "s.jsonl", rows), "parus").answers.source
    assert (found.prompts_checked, found.other_prompts) == (8, 0)


def test_rows_outside_the_items_are_counted_with_examples(tmp_path: Path) -> None:
    rows = [inspect_sample(item.id, "1") for item in items_of("parus")] + [inspect_sample("9999", "1")]
    told = [*scored(inspect_log(tmp_path / "log.json", rows), "parus").answers.sentences()]
    assert "8 of 9 rows belong to items (8 by id)" in told[0]
    assert "1 row belongs to no item and is left out" in told[1]
    assert "id 9999" in told[1]


def test_two_documents_of_one_id_are_refused(tmp_path: Path) -> None:
    rows = [lm_eval_choice(at, "parus", items_of("parus")[0], "1") for at in range(2)]
    with pytest.raises(InputError, match="row 2: item '1' is answered twice, here and in row 1"):
        scored(written(tmp_path / "s.jsonl", rows), "parus")
