"""`merilo report`: exit statuses, messages, and the folder on real pools."""

import json
from pathlib import Path

import pytest
from command import merilo, printed
from exports import small_pool, toloka, written


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    pool = written(folder / "p.tsv", toloka(small_pool(people=5, items=6)))
    assert merilo("baseline", pool, "--out", folder / "base").status == 0
    return folder / "base"


def test_the_folder_is_written_and_verified(base: Path, tmp_path: Path) -> None:
    made = merilo("report", base, "--out", tmp_path / "hb", "--json", "-")
    assert made.status == 0
    written_files = [path for path in (tmp_path / "hb").rglob("*") if path.is_file()]
    assert set(made.json["files"]) == {path.relative_to(tmp_path / "hb").as_posix() for path in written_files}
    assert any("but no metric" in remark for remark in made.json["remarks"])
    found = merilo("verify", tmp_path / "hb")
    assert (found.status, found.out.splitlines()[-1][:9]) == (0, "verified:")


def test_one_changed_answer_fails_and_names_values_and_the_file(base: Path, tmp_path: Path) -> None:
    merilo("report", base, "--out", tmp_path / "hb")
    path = tmp_path / "hb" / "raw" / "responses.csv"
    first = next(line for line in path.read_text().splitlines() if ",A,,false," in line)
    path.write_text(path.read_text().replace(first, first.replace(",A,", ",B,")))
    (tmp_path / "hb" / "notes\x1b[2J.txt").write_text("")
    status, screen = printed("verify", tmp_path / "hb")
    assert status == 1
    assert "differs: agreement.krippendorff_alpha: published" in screen
    assert "raw/responses.csv: published as in the manifest, recomputed changed" in " ".join(screen.split())
    assert "notes [2J.txt: published not in the manifest" in " ".join(screen.split())
    assert "NOT verified" in screen
    found = merilo("verify", tmp_path / "hb", "--json", "-")
    assert found.status == 1
    assert not found.json["verified"]
    names = {one["name"] for one in found.json["differences"]}
    assert {"agreement.krippendorff_alpha", "raw/responses.csv"} <= names
    assert "cost.total" not in names


def test_a_folder_that_is_no_report_and_wrong_usage_end_with_2(base: Path, tmp_path: Path) -> None:
    assert "raw/settings.json is missing" in merilo("verify", tmp_path).complaint
    assert merilo("verify", tmp_path / "nowhere").status == 2
    assert merilo("report", tmp_path / "nowhere", "--out", tmp_path / "hb").status == 2
    assert "out" in merilo("report", base).complaint
    cards = merilo("report", base, "--out", tmp_path / "hb", "--cards", tmp_path)
    assert (cards.status, "has none of raw_dataset_meta.json" in cards.complaint) == (2, True)
    (tmp_path / "hb").mkdir()
    outcome = merilo("report", base, "--out", tmp_path / "hb")
    assert outcome.status == 2
    assert "exists already; choose another place or give --force" in outcome.complaint
    assert merilo("report", base, "--out", tmp_path / "hb", "--force").status == 0
    (tmp_path / "hb" / "manifest.json").write_text('{"kind": "another"}')
    outcome = merilo("verify", tmp_path / "hb")
    assert outcome.status == 2
    assert "manifest.json" in outcome.complaint


#: Pool -> (dataset, the pattern of its exports, a figure that is published of it).
POOLS = {
    "bps": ("bps", "*.tsv", ("metrics", "acc", "value"), 1.0),
    "lcs": ("lcs", "*.tsv", ("by_majority_alone", "acc", "value"), 0.703704),
    "rwsd": ("rwsd", "*.tsv", ("annotators", "excluded"), 5),
    "ruworldtree": ("ruworldtree", "*.tsv", ("annotators", "excluded"), 41),
    "rutie": ("rutie", "pool1.tsv", ("items", "total"), 430),
    "rudetox": (None, "*41793133*.tsv", ("annotators", "excluded"), 158),
}


#: Pool -> what the section of its card says of published figures: people, exclusion, majorities, estimate, pay.
CARDS = {
    "bps": ("platform Toloka", "3 of 24 annotators", "5 on 91 items", "1.000 [0.958, 1.000] on 100 items", "$5.09", "was $1.96."),
    "lcs": ("3 of 29 annotators", "On the 54 items with a majority, it is 0.704", "0.560 [0.373, 0.731] on 100 items", "must not be used", "$7.25", "was $0.86."),
    "rwsd": ("5 of 155 annotators", "137 items unanimously", "lacking on 1 of 260 items", "$13.52", "was $1.13."),
    "ruworldtree": ("41 of 191 annotators", "lacking on 26 of 525 items", "$40.67", "was $1.63."),
    "rutie": ("answered by 5 annotators of the crowdsourcing platform ABC Elementary", "294 items unanimously", "136 by a majority"),
    "rudetox": ("158 of 341 annotators", "lacking on 102 of 800 items"),
}  # fmt: skip


@pytest.mark.parametrize(
    "pool",
    [
        *("bps", "lcs", "rudetox"),
        *(pytest.param(one, marks=pytest.mark.thorough) for one in ("rwsd", "ruworldtree", "rutie")),
    ],
)
def test_a_real_pool_end_to_end(pool: str, pools: Path, tmp_path: Path) -> None:
    dataset, pattern, keys, value = POOLS[pool]
    skills = pools / pool / "workerSkills.csv"
    options = [
        *(["--dataset", dataset] if dataset else []),
        *(["--skills", skills] if skills.exists() else []),
    ]
    merilo("baseline", *sorted((pools / pool).glob(pattern)), *options, "--out", tmp_path / "base")
    assert merilo("report", tmp_path / "base", "--out", tmp_path / "hb").status == 0
    found = merilo("verify", tmp_path / "hb", "--json", "-")
    assert found.status == 0, found.json
    content = json.loads((tmp_path / "hb" / "baseline.json").read_text())
    for key in keys:
        content = content[key]
    # Totals of closed gold answers have three decimals.
    assert content == pytest.approx(value, abs=5e-4)
    card = (tmp_path / "hb" / "human_baseline_en.md").read_text()
    for text in CARDS[pool]:
        assert text in card, card
    for path in (tmp_path / "hb").rglob("*"):
        if path.is_file():
            assert str(pools).encode() not in path.read_bytes(), path.name
