"""Several laboratories as one: a pool split into five equals the whole, injected effects are found, misfits are told."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import merilo as command

import merilo

GOLD = {f"q{item}": "AB"[item % 2] for item in range(40)}


def pool(laboratories: int, people: int = 8, effect: float = 0.0, seed: int = 1) -> pl.DataFrame:
    """Answers of laboratories; those of the last one are right less often by the effect."""
    drawn = np.random.default_rng(seed)
    rows = []
    for laboratory in range(laboratories):
        level = 0.85 - (effect if laboratory == laboratories - 1 else 0)
        for person in range(people):
            for item in range(40):
                if drawn.random() < 0.7:
                    right = drawn.random() < level - 0.2 * (item % 3 == 0)
                    label = GOLD[f"q{item}"] if right else "BA"[item % 2]
                    rows.append((f"lab{laboratory}", f"q{item}", f"p{laboratory}-{person}", label))
    return pl.DataFrame(rows, schema=["laboratory", "task", "worker", "label"], orient="row")


def save(
    table: pl.DataFrame, folder: Path, gold: dict[str, str] | None = None, **settings: object
) -> list[Path]:
    folders = []
    for (name,), rows in table.group_by("laboratory", maintain_order=True):
        responses = merilo.read_responses(rows.drop("laboratory"))
        merilo.baseline(responses, gold=gold or GOLD, **settings).save(folder / str(name))
        folders.append(folder / str(name))
    return folders


def test_a_pool_split_into_five_equals_the_whole_and_is_published(tmp_path: Path) -> None:
    table = pool(5)
    whole = merilo.baseline(merilo.read_responses(table.drop("laboratory")), gold=GOLD)
    folders = save(table, tmp_path)
    published = tmp_path / "hb0"
    merilo.report(folders[0], published)
    done = command(
        "merge", published, *folders[1:], "--out", tmp_path / "all", "--json", tmp_path / "all.json"
    )
    assert done.status == 0, done.err
    found = json.loads((tmp_path / "all.json").read_text())
    own = json.loads(json.dumps(whole.to_dict()))
    for key in ("agreement", "resolved_by", "items"):
        assert found[key] == own[key]
    both = found["metrics"]["acc"], own["metrics"]["acc"]
    assert both[0]["value"] == both[1]["value"]
    assert both[0]["single_person"]["mean"] == both[1]["single_person"]["mean"]
    # The resamples are drawn by the order of the annotators, whose names differ.
    interval = "ci95_items_and_annotators"
    assert both[0][interval] == pytest.approx(both[1][interval], abs=0.01)
    assert found["annotators"]["total"] == 40
    assert [one["annotators"] for one in found["laboratories"]] == [8] * 5
    levels = [one["single_person"] for one in found["laboratories"]]
    low, high = found["between"]["prediction95"]
    assert low < min(levels) <= max(levels) < high
    assert found["between"]["p"] > 0.05
    assert "a new laboratory would reach between" in done.out
    merilo.report(tmp_path / "all", tmp_path / "hb")
    assert merilo.verify(tmp_path / "hb").ok


def test_an_injected_effect_is_found(tmp_path: Path) -> None:
    effects = merilo.merge(save(pool(4, effect=0.3), tmp_path)).effects
    assert effects is not None
    assert effects.between is not None
    assert effects.between.p < 0.01
    assert effects.between.spread > 0.05
    assert effects.levels.value.argmin() == 3


def test_laboratories_that_do_not_fit_are_told(tmp_path: Path) -> None:
    first, second = save(pool(2), tmp_path)
    wrong = save(pool(1), tmp_path / "wrong", gold={**GOLD, "q3": "A"})
    other = save(pool(1), tmp_path / "other", min_votes=2)
    strange = save(
        pool(1).with_columns(task=pl.col("task") + "x"),
        tmp_path / "strange",
        {f"{one}x": a for one, a in GOLD.items()},
    )
    for folders, told in (
        ([first, wrong[0]], "have different gold answers of the item q3: B and A"),
        ([first, other[0]], "used different settings: min_votes is majority and 2"),
        ([first, strange[0]], "shares no item with the other laboratories"),
        ([first], "needs at least two folders"),
        ([first, first], "names the same folder twice"),
        ([first, tmp_path], "has no raw answers"),
    ):
        done = command("merge", *folders, "--out", tmp_path / "out")
        assert done.status in {1, 2}
        assert told in done.complaint
        assert not (tmp_path / "out").exists()
    assert merilo.merge([first, second]).effects.to_dict()["between"] == {  # type: ignore[union-attr]
        "reason": "there are fewer than 3 laboratories"
    }
