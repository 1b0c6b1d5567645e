"""The answers of the site as a table for the import, and the baseline that is made of them."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest
from command import merilo
from study_people import of_kind

from merilo.errors import UsageError
from merilo.site.annotator_steps import SentAnswer, ShownTask, next_task, save_answers
from merilo.site.answer_export import CollectedAnswers, collect_answers
from merilo.site.author_actions import comments_table
from merilo.site.journal import Journal, database_url
from merilo.site.people_access import admit_from_platform
from merilo.site.served_study import load_study
from merilo.site.serving import back_up_site, read_site
from merilo.site.state import State
from merilo.studies.platform_rows import file_replies
from merilo.studies.study_folder import StudyFolder

Frozen = Callable[..., StudyFolder]


def answered_by(
    folder: StudyFolder, database: str, people: int, excluded: int = 0, texts: Sequence[str] = ()
) -> None:
    """Let people answer everything rightly, or with the texts; the first ones are then excluded by the author."""
    gold = {task.id: str(task.item.outputs) for task in of_kind(folder, "test")}
    journal = Journal(database_url(folder.path, database))
    assert journal.take()
    state, now = State(load_study(folder, "people")), 1_790_000_000_000
    state.begin(now)
    for number in range(people):
        admitted = admit_from_platform(state, "platform", f"secret-{number}", "ru", now)
        assert admitted is not None
        person = admitted.person
        state.record(now, "moved", person.id, to="working")
        while isinstance(shown := next_task(state, person, now), ShownTask):
            task = state.study.tasks[shown.number]
            answer = texts[shown.number % len(texts)] if texts else gold.get(task.id)
            sent = SentAnswer(number=shown.number, answer=task.known or answer or "", comment=answer)
            save_answers(state, person, [sent], now + 2500)
            now += 3000
        if number < excluded:
            state.record(now, "excluded", person.id, reason="test")
    journal.append(state.unwritten())
    journal.close()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--out {}/site.db", "would be overwritten together with the input file"),
        ("--out {}/study.yaml", "would be overwritten together with the input file"),
        ("--out x.csv --json {}/study.yaml", "would be overwritten together with the input file"),
        ("--out other.db --database sqlite:///other.db", "would be overwritten together with the input"),
        ("--out x.csv --people x.csv", "two results would be written to x.csv"),
        ("--out x.csv --json x.csv", "two results would be written to x.csv"),
        ("--out x.csv --database sqlite:///typo.db", "there is no such database"),
    ],
)
def test_collecting_destroys_and_invents_no_file(
    options: str, sentence: str, frozen: Frozen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = frozen().path
    (folder / "site.db").touch()
    (tmp_path / "other.db").touch()
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    ended = merilo("study", "collect", folder, *options.format(folder).split(), "--force")
    assert (ended.status, sentence in " ".join(ended.err.split())) == (2, True), ended
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def collected(folder: StudyFolder, database: str) -> CollectedAnswers:
    return collect_answers(read_site(folder.path, database=database))


def test_answers_of_excluded_people_are_left_out_and_counted(frozen: Frozen, database: str) -> None:
    folder = frozen()
    answered_by(folder, database, 3, excluded=1)
    made = collected(folder, database)
    assert made.people == 2
    excluded = made.left_out["excluded"]
    assert excluded > 0
    assert made.to_dict()["left_out"] == {"excluded": excluded, "stopped": 0, "surplus": 0}


def test_a_postgresql_database_is_backed_up_by_its_own_program(frozen: Frozen, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pg_dump"):
        back_up_site(frozen().path, tmp_path / "copy.db", database="postgresql://u@h/d")


#: Answers that a spreadsheet would run, and numbers.
FORMULAS = {"-1+HYPERLINK(1)", "=1+1", "+A1", "@SUM(1)", "\uff1d1", "\u22121+A1"}
NUMBERS = {"-1", "\u22123,5"}


def test_tables_of_the_site_run_no_formulas_and_the_import_has_the_answers_as_they_were_given(
    frozen: Frozen, database: str, tmp_path: Path
) -> None:
    folder = frozen("chegeka", overlap=1)
    answered_by(folder, database, 1, texts=sorted(FORMULAS | NUMBERS))
    table = tmp_path / "answers.csv"
    table.write_text(collected(folder, database).table, encoding="utf-8", newline="")
    state = read_site(folder.path, database=database)
    comments, study = pl.read_csv(io.StringIO(comments_table(state)), infer_schema=False), state.study
    answers = pl.read_csv(table, infer_schema=False)
    for cells in (answers["answer"], comments["answer"], comments["comment"]):
        assert {f"'{text}" for text in FORMULAS} | NUMBERS <= set(cells)
        assert not FORMULAS & set(cells)
    replies = file_replies(folder, study.tasks, table, "table").replies
    assert set(replies["answer"]) >= FORMULAS | NUMBERS
