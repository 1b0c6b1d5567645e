"""`merilo experts`: sample questions, plan a study, and compare experts with people without training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import typer

from merilo.atomic_write import guarded, refuse_existing
from merilo.baselines.expert_scores import score_experts, score_people
from merilo.baselines.experts import (
    Marks,
    beside_people,
    domains_of,
    outside_labels,
    read_marks,
    require_marks,
    told,
)
from merilo.baselines.pipeline import baseline
from merilo.baselines.provenance import provenance
from merilo.baselines.settings import Settings
from merilo.cli.exports import command_line, gold_of, reading, typed_freely
from merilo.cli.output import OutFolder, emit_json, refuse_json, say, working
from merilo.cli.study_options import RecodeOption
from merilo.datasets import dataset
from merilo.items import Split, read_split, write_splits
from merilo.people import platforms
from merilo.people.duplicates import Repeats, settle
from merilo.people.experts.out_of_bag import Decision, Late, OutOfBag, OutOfBagDesign, out_of_bag
from merilo.people.experts.planning import QUESTIONS_AN_HOUR, plan
from merilo.people.experts.sampling import sample_questions
from merilo.people.platforms import Columns, Platform
from merilo.people.recoding import occurring, read_recoding, recoding_files
from merilo.people.recoding import recode as recode_answers
from merilo.reports.experts import basic_summary, expert_items, experts_summary, out_of_bag_summary
from merilo.responses import Responses
from merilo.strict_json import Json, as_text

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Expert tests: draw the questions, plan the hours, and compare experts with people without training.",
)

JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE|-", help="The result as one JSON object; - is standard output."),
]


@app.command()
def sample(
    file: Annotated[Path, typer.Argument(help="The dataset's items: JSON, JSONL or Parquet.")],
    *,
    out: Annotated[Path, typer.Option(help="Where the questions go; the format is told by the name.")],
    questions: Annotated[int, typer.Option("-n", "--questions", help="How many questions a domain.")] = 100,
    domain: Annotated[str | None, typer.Option(help="The field of the domain, in meta or inputs; one domain when not given.")] = None,
    even_over: Annotated[list[str] | None, typer.Option(help="A field to be even over; may be given several times, the coarsest first: subdomain, difficulty.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the draw.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Draw the questions for experts: so many a domain, even over subdomains and difficulty."""
    refuse_existing(out, force=force, needed=[file])
    refuse_json(json_to, [file])
    split = read_split(file)
    drawn = sample_questions(split.items, questions, domain=domain, fields=even_over or (), seed=seed)
    write_splits(out, [Split("test", drawn.items)])
    for name, there in drawn.short.items():
        say(
            f"domain '{name}' has only {there} of {questions} questions"
            if name
            else f"there {'is only 1 question' if there == 1 else f'are only {there} questions'}"
        )
    if json_to:
        emit_json(
            {
                "questions": len(drawn.items),
                "short": dict(drawn.short),
                "strata": [asdict(stratum) | {"values": list(stratum.values)} for stratum in drawn.strata],
                "seed": seed,
            },
            json_to,
        )
    if json_to != "-":
        from merilo.cli.experts_table import show_sample  # noqa: PLC0415 - the JSON needs no tables

        show_sample(drawn, domain, even_over or [], out)
    return 0


@app.command("plan")
def plan_(
    *,
    questions: Annotated[int, typer.Option("-n", "--questions", help="How many questions a domain.")] = 100,
    experts: Annotated[int, typer.Option(help="How many experts a domain has.")] = 5,
    own: Annotated[float | None, typer.Option(help="How many of the questions an expert wrote, on average; an equal share of all when not given.")] = None,
    an_hour: Annotated[float, typer.Option(help="Questions an hour.")] = QUESTIONS_AN_HOUR,
    rate: Annotated[float | None, typer.Option(help="Pay an hour, in dollars.")] = None,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Plan a domain: hours, pay, and how many answers an item will keep."""
    made = plan(questions, experts, own=own, questions_an_hour=an_hour, usd_an_hour=rate)
    if json_to:
        emit_json({name: value for name, value in asdict(made).items()}, json_to)  # noqa: C416 - the copy has the type
    if json_to != "-":
        from merilo.cli.experts_table import show_plan  # noqa: PLC0415 - the JSON needs no tables

        show_plan(made)
    return 0


@app.command("baseline")
def baseline_(
    files: Annotated[list[Path], typer.Argument(help="The experts' exports.")],
    *,
    people: Annotated[list[Path] | None, typer.Option(help="Exports of people without training on the same questions; may be given several times.")] = None,
    protocol: Annotated[Literal["out-of-bag", "basic"], typer.Option(help="out-of-bag: the experts wrote the questions and skip their own; basic: they had not seen them, and the procedure is that of merilo baseline.")] = "out-of-bag",
    mine: Annotated[list[str] | None, typer.Option(help="An answer that means 'may be mine', besides the guide's wording; may be given several times.")] = None,
    mine_column: Annotated[str | None, typer.Option(help="A column of marks 'may be mine' beside the answers.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for a question, from the moment it is shown (the guide: 60).")] = None,
    late: Annotated[Late, typer.Option(help="Answers after the time limit: do not count, count, or count as wrong.")] = "drop",
    min_answers: Annotated[int, typer.Option(help="Items with fewer answers left are named and not decided.")] = 3,
    decision: Annotated[Decision, typer.Option(help="What decides: more than half of the answers left, or the most of them.")] = "majority",
    domain: Annotated[str | None, typer.Option(help="The field of the domain: an input field, or a column (or meta field) of --gold.")] = None,
    dataset_name: Annotated[str | None, typer.Option("--dataset", help="The dataset's name.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Right answers: CSV, TSV, JSON or JSONL, joined on the inputs.")] = None,
    gold_column: Annotated[str | None, typer.Option(help="The column of right answers, where its name does not tell.")] = None,
    platform: Annotated[Platform | None, typer.Option(help="Where the files come from; told by their header when not given.")] = None,
    answer: Annotated[str | None, typer.Option(help="The column of answers, where there are several.")] = None,
    recode: RecodeOption = None,
    item: Annotated[list[str] | None, typer.Option(help="A column that makes an item (plain tables); may be given several times.")] = None,
    annotator: Annotated[str | None, typer.Option(help="The column of annotators' ids (plain tables).")] = None,
    seconds: Annotated[str | None, typer.Option(help="The column of the seconds that a page took (plain tables).")] = None,
    page: Annotated[str | None, typer.Option(help="The column of pages: what was answered together (plain tables).")] = None,
    encoding: Annotated[str | None, typer.Option(help="The files' encoding, where it is neither UTF-8 nor marked.")] = None,
    repeats: Annotated[Repeats, typer.Option(help="A person's second, different answer to an item.")] = "refuse",
    min_control_accuracy: Annotated[float, typer.Option(help="People below it on control items are excluded (people, and experts by the basic protocol).")] = 0.5,
    out: Annotated[Path | None, typer.Option(help="A new folder for experts.json and, out of bag, every question in items.csv.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Make the experts' baseline, and compare it with that of people without training."""
    inputs = [*files, *(people or ()), *([gold] if gold else []), *recoding_files(recode or ())]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)
    declared = dataset(dataset_name) if dataset_name else None
    labels = declared.answer.labels if declared else ()
    settings = Settings(
        dataset=declared.name if declared else None,
        labels=labels,
        min_control_accuracy=min_control_accuracy,
        repeats=repeats,
    )
    columns = Columns(answer=answer, item=tuple(item or ()), annotator=annotator, page=page, seconds=seconds)
    read = partial(
        platforms.read,
        platform=platform,
        columns=columns,
        labels=labels,
        encoding=encoding,
        as_typed=typed_freely(declared),
    )
    responses, people_responses = _both(read, files, people, read_recoding(recode or (), encoding))
    known = gold_of(responses, declared, gold, gold_column, encoding)
    bag: OutOfBag | None = None
    if protocol == "basic":
        with working("Making the experts' baseline"):
            made = baseline(responses, settings, gold=known)
            responses, scored = made.responses, score_people(made, declared)
        content = basic_summary(made, scored)
    else:
        design = OutOfBagDesign(tuple(mine or ()), time_limit, late, min_answers, decision)
        marks = (
            read_marks(files, mine_column, responses, platform, columns, encoding=encoding)
            if mine_column
            else Marks()
        )
        outside = outside_labels(responses, design, marks, known, declared)
        require_marks(responses, design, marks, outside)
        responses = settle(responses, repeats)
        domains = domains_of(responses, domain, gold, encoding) if domain else None
        with working("Making the experts' baseline"):
            bag = out_of_bag(responses, design, domains=domains, marks=marks.of)
            scored = score_experts(bag, responses, known, declared)
        content = out_of_bag_summary(bag, marks, scored, outside)
        if outside:
            say(f"answers outside the labels, counted as votes: {told(outside)}")
    untrained, comparison = None, None
    if people_responses:
        with working("Making the baseline of people without training"):
            other_gold = gold_of(people_responses, declared, gold, gold_column, encoding)
            other = baseline(people_responses, settings, dataset=declared, gold=other_gold)
        others = score_people(other, declared)
        untrained = basic_summary(other, others)
        if scored.points:
            comparison = beside_people(scored.points, responses, known, other, others.points)
    options: dict[str, Json] = {
        "people": [str(path) for path in people or ()], "protocol": protocol, "mine": list(mine or []),
        "mine_column": mine_column, "time_limit": time_limit, "late": late, "min_answers": min_answers,
        "decision": decision, "domain": domain, "dataset": dataset_name, "gold": str(gold) if gold else None,
        "gold_column": gold_column, "platform": platform, "answer": answer, "recode": list(recode or []), "item": list(item or []),
        "annotator": annotator, "seconds": seconds, "page": page, "encoding": encoding, "repeats": repeats,
        "min_control_accuracy": min_control_accuracy,
    }  # fmt: skip
    command = command_line("experts baseline", files, options, _DEFAULTS)
    summary = experts_summary(
        content,
        untrained,
        comparison,
        settings.dataset,
        provenance(command, inputs, options),
    )
    if folder:
        table = guarded(expert_items(bag, scored, responses)) if bag else None
        _write(folder, summary, table)
    if json_to:
        emit_json(summary, json_to)
    if json_to != "-":
        from merilo.cli.experts_table import show_baselines  # noqa: PLC0415 - the JSON needs no tables

        show_baselines(summary, out)
    return 0


def _both(
    read: Callable[..., Responses],
    experts: Sequence[Path],
    people: Sequence[Path] | None,
    mapping: Mapping[str, str | None],
) -> tuple[Responses, Responses | None]:
    """Read both groups and recode their answers; an answer of one group need not occur in the other."""
    with reading(experts) as progress:
        own = read(experts, progress=progress)
    if not people:
        return recode_answers(own, mapping), None
    other = read(people)
    in_own, in_other = occurring(own, mapping), occurring(other, mapping)
    rest = {text: kept for text, kept in mapping.items() if text in in_own or text not in in_other}
    return recode_answers(own, rest), recode_answers(other, in_other)


def _write(folder: OutFolder, summary: dict[str, Json], items: pl.DataFrame | None) -> None:
    with folder.filled() as hidden:
        (hidden / "experts.json").write_text(as_text(summary), encoding="utf-8")
        if items is not None:
            items.write_csv(hidden / "items.csv")


_DEFAULTS: dict[str, Json] = {
    "protocol": "out-of-bag",
    "late": "drop",
    "min_answers": 3,
    "decision": "majority",
    "min_control_accuracy": 0.5,
    "repeats": "refuse",
}
