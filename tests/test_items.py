"""Items survive every file format, and a file that holds none is refused with its place."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import JSON, KEYS, TEXT

from merilo.datasets.dataset_files import read_split, read_splits
from merilo.errors import InputError, OutputError, UsageError
from merilo.items import Item, Split, entry_of, item_of, split_file, write_splits
from merilo.strict_json import Json

GOLDS = JSON.filter(lambda gold: gold not in ("", [], {}))


@st.composite
def items(draw: st.DrawFn, golds: st.SearchStrategy[Json] = GOLDS) -> list[Item]:
    ids = draw(st.lists(st.integers(1, 10**9) | TEXT.filter(bool), unique=True, max_size=6))
    return [
        Item(
            number,
            draw(TEXT | st.integers(0, 9)),
            draw(TEXT | st.dictionaries(TEXT, JSON, max_size=3)),
            draw(golds),
            {"id": number, **draw(st.dictionaries(KEYS, JSON, max_size=2))},
        )
        for number in ids
    ]


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("items")


def entry(number: Json = 1, **other: Json) -> dict[str, Json]:
    return {"instruction": "{inputs}", "inputs": "( )", "outputs": "1", "meta": {"id": number}, **other}


@given(st.lists(items(), min_size=1, max_size=3))
@settings(deadline=None)  # the first call imports Polars
def test_splits_survive_the_first_form(place: Path, groups: list[list[Item]]) -> None:
    splits = [Split(f"split{number}", tuple(group)) for number, group in enumerate(groups)]
    write_splits(place / "first.json", splits)
    assert list(read_splits(place / "first.json").values()) == splits


@given(items(), st.sampled_from([None, "public", "private"]))
@settings(deadline=None)  # the first call imports Polars
def test_a_split_survives_the_second_form_and_jsonl(place: Path, group: list[Item], access: None) -> None:
    split = Split("second", tuple(group), access)
    content = {"data": [entry_of(item) for item in group], "access": access}
    (place / "second.json").write_text(json.dumps(content), encoding="utf-8")
    assert read_split(place / "second.json") == split
    write_splits(place / "second.jsonl", [split])
    assert read_split(place / "second.jsonl") == replace(split, access=None)


@given(
    st.lists(
        st.tuples(TEXT, TEXT, TEXT.filter(bool), st.lists(st.integers(-9, 9), min_size=1, max_size=3)),
        min_size=1,
        max_size=40,
    )
)
@settings(deadline=None, max_examples=4)  # each file is read in a process of its own, which imports Polars
def test_items_of_one_form_survive_parquet(place: Path, rows: list[tuple[str, str, str, list[int]]]) -> None:
    group = [
        Item(
            n,
            instruction,
            {"text": text, "option_a": "x"},
            gold,
            {"id": n, "domain": text, "marks": [*marks]},
        )
        for n, (instruction, text, gold, marks) in enumerate(rows, start=1)
    ]
    split = Split("table", tuple(group))
    write_splits(place / "table.parquet", [split])
    assert read_split(place / "table.parquet") == split


def test_fields_that_an_item_of_a_parquet_file_has_not_are_absent(place: Path) -> None:
    group = (Item(1, "{a}", {"a": "x"}, "1", {"id": 1}), Item(2, "{b}", {"b": "y"}, None, {"id": 2, "k": 1}))
    write_splits(place / "uneven.parquet", [Split("uneven", group)])
    assert read_split(place / "uneven.parquet").items == group


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4))
@settings(deadline=None)  # the first call imports Polars
def test_dialogues_keep_their_turns(place: Path, lengths: list[int]) -> None:
    turns = [Item(n, "{q}", {"q": "?"}, "1", {"id": n}) for n in range(1, sum(lengths) + 1)]
    split = Split("test", tuple(turns), lengths=tuple(lengths))
    write_splits(place / "rutie.json", [split])
    raw = json.loads((place / "rutie.json").read_text(encoding="utf-8"))["data"]["test"]
    assert [len(dialogue) for dialogue in raw] == lengths
    again = read_split(place / "rutie.json")
    assert again == split
    assert [turn for dialogue in again.dialogues() for turn in dialogue] == turns


def test_a_flat_list_of_turns_falls_into_dialogues_by_what_its_turns_say(place: Path) -> None:
    entries = [entry(None, meta={"dialog_id": d, "question_id": q}) for d, q in [(0, 0), (0, 1), (1, 0)]]
    (place / "flat.json").write_text(json.dumps({"data": {"test": entries}}), encoding="utf-8")
    split = read_split(place / "flat.json")
    assert split.lengths == (2, 1)
    assert [item.id for item in split] == ["0/0", "0/1", "1/0"]


def test_items_that_are_no_dialogue_stand_alone() -> None:
    split = Split("test", (Item(1, "", ""), Item(2, "", "")))
    assert [len(group) for group in split.dialogues()] == [1, 1]
    assert len(split) == 2


def test_empty_outputs_are_those_of_a_closed_test_and_zero_or_false_are_golds() -> None:
    for outputs in ("", [], {}, None, 0, False):
        item = item_of(entry(outputs=outputs), file="f", where="data[0]")
        closed = outputs is None or outputs in ("", [], {})
        assert item.outputs is (None if closed else outputs)
        assert entry_of(item)["outputs"] == ("" if closed else outputs)


def test_the_wanted_split_is_found_by_name_or_is_the_test_or_the_only_one(place: Path) -> None:
    file = place / "several.json"
    write_splits(file, [Split("train", (Item(1, "", ""),)), Split("test", (Item(2, "", ""),))])
    assert read_split(file).name == "test"
    assert read_split(file, name="train").name == "train"
    with pytest.raises(UsageError, match=r"has no split 'dev' \(it has train, test\)"):
        read_split(file, name="dev")
    only = place / "only.json"
    write_splits(only, [Split("shots", ())])
    assert read_split(only).name == "shots"
    write_splits(only, [Split("a", ()), Split("b", ())])
    with pytest.raises(UsageError, match="no split 'test'"):
        read_split(only)


@pytest.mark.parametrize("name", ["BPS.json", "bps.json", "Bps/Test.json", "bps/test.jsonl", "BPS.parquet"])
def test_a_split_is_found_in_a_folder_in_any_letter_case(tmp_path: Path, name: str) -> None:
    (tmp_path / "rcb.json").touch()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert split_file(tmp_path, "bPs") == tmp_path / name
    assert split_file(tmp_path, "parus") is None
    assert split_file(tmp_path / "nowhere", "bps") is None


#: What JSON that holds no items says, and what it is told.
NO_ITEMS = [
    ("", "is not JSON: expecting value at line 1, column 1"),
    ('{"data": {"test": [', "is not JSON"),
    ("[]", "has no items"),
    ("{}", "has no items"),
    ('{"data": 5}', "has no items"),
    ('{"data": {"test": {}}}', r"data\.test: must be a list"),
    ('{"data": [], "access": "secret"}', "access: must be 'public' or 'private'"),
    ('{"data": [], "access": []}', "access: must be 'public' or 'private'"),
    ('{"data": [5]}', r"data\[0\]: must be an item"),
    ('{"data": [{"inputs": "a"}]}', r"data\[0\]\.instruction: must be"),
    ('{"data": [{"instruction": true, "inputs": "a"}]}', r"data\[0\]\.instruction: must be"),
    ('{"data": [{"instruction": "", "inputs": 3}]}', r"data\[0\]\.inputs: must be"),
    ('{"data": [{"instruction": "", "inputs": ""}]}', r"data\[0\]\.meta: must be"),
    ('{"data": [{"instruction": "", "inputs": "", "meta": {}}]}', r"data\[0\]\.meta\.id: must be"),
    ('{"data": [{"instruction": "", "inputs": "", "meta": {"id": true}}]}', r"meta\.id: must be"),
    ('{"data": [{"instruction": "", "inputs": "", "meta": {"id": 1.5}}]}', r"meta\.id: must be"),
    ('{"data": {"test": [[{"inputs": ""}]]}}', r"data\.test\[0\]\[0\]\.instruction"),
    (json.dumps({"data": {"test": [entry(1), [entry(2)]]}}), "mixes dialogues"),
    (json.dumps({"data": {"test": [entry(7), entry(7)]}}), "two items have the id 7"),
    ('{"data": [NaN]}', "NaN is not a JSON number"),
    ('{"data": [1], "data": [2]}', "the key 'data' occurs twice"),
    ('{"data": ["\\ud800"]}', "surrogate"),
    ("[" * 100_000, "too deep"),
    ('{"data": [' + "9" * 5000 + "]}", "is not JSON"),
]
#: Files of other kinds; `None`: there is no such file.
NO_FILES = [
    ("test.jsonl", f"{json.dumps(entry(1))}\n\n{{\n".encode(), r"row 3: is not JSON"),
    ("test.json", b"\xff\xfe{", "is not UTF-8"),
    ("test.parquet", b"PAR1 no", "is not a readable Parquet file"),
    ("test.csv", b"a,b", "is not a file of items"),
    *((f"nowhere.{form}", None, "no such file") for form in ("json", "jsonl", "parquet")),
    ("folder.json", None, "is a folder, not a file"),
]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [*(("test.json", text.encode(), fault) for text, fault in NO_ITEMS), *NO_FILES],
)
def test_a_file_that_holds_no_items_is_refused_with_the_place(
    tmp_path: Path, name: str, content: bytes | None, fault: str
) -> None:
    (tmp_path / "folder.json").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=fault) as caught:
        read_splits(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_what_a_file_cannot_take_is_refused(tmp_path: Path) -> None:
    split = Split("test", (Item(1, "", "a"),))
    with pytest.raises(UsageError, match="only JSON can hold"):
        write_splits(tmp_path / "two.jsonl", [split, replace(split, name="shots")])
    with pytest.raises(UsageError, match="must end in"):
        write_splits(tmp_path / "items.csv", [split])
    mixed = Split("test", (Item(1, "", "a"), Item(2, "", {"a": "b"})))
    with pytest.raises(OutputError, match="write JSON instead"):
        write_splits(tmp_path / "mixed.parquet", [mixed])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [f"a/b/items.{form}" for form in ("json", "jsonl", "ndjson", "parquet")])
def test_folders_on_the_way_are_made_and_a_place_that_cannot_be_one_is_refused(
    tmp_path: Path, name: str
) -> None:
    split = Split("items", (Item(1, "{inputs}", "a", "b", {"id": 1}),))
    write_splits(tmp_path / name, [split])
    assert read_split(tmp_path / name) == split
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        write_splits(tmp_path / "file" / name, [split])
