"""`merilo experts`: sample questions, plan a study, and compare experts with people without training."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from merilo.atomic_write import refuse_existing
from merilo.baselines.expert_baseline import expert_baseline
from merilo.baselines.experts import told
from merilo.cli.output import OutFolder, emit_json, reading, refuse_json, say, working
from merilo.cli.procedure_options import takes_settings
from merilo.cli.study_options import PopulationOption, RecodeOption, StrataOption, fields_of_strata
from merilo.files import Progress
from merilo.items import Split, read_split, write_splits
from merilo.people.experts.sampling import QUESTIONS_AN_HOUR, plan, sample_questions
from merilo.people.platforms import Platform
from merilo.people.reading import StudyResponses, read_responses
from merilo.people.recoding import recoding_files
from merilo.settings import ExpertSettings, Settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Expert tests: sample questions, plan the hours, and compare experts with people without training.",
)

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output."
    ),
]


@app.command()
def sample(
    file: Annotated[Path, typer.Argument(help="The dataset's items: JSON, JSONL or Parquet.")],
    *,
    out: Annotated[Path, typer.Option(help="The file for the questions; its extension gives the format.")],
    questions: Annotated[int, typer.Option("-n", "--questions", help="How many questions per domain.")] = 100,
    domain: Annotated[str | None, typer.Option(help="The field that holds the domain, in meta or inputs. Default: one domain.")] = None,
    even_over: Annotated[list[str] | None, typer.Option(help="Sample evenly over this field; may be given several times, the coarsest field first: subdomain, difficulty.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed of the sample.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Sample questions for experts: the same number per domain, evenly over subdomains and difficulty."""
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
    questions: Annotated[int, typer.Option("-n", "--questions", help="How many questions per domain.")] = 100,
    experts: Annotated[int, typer.Option(help="How many experts per domain.")] = 5,
    own: Annotated[float | None, typer.Option(help="How many of the questions an expert wrote, on average. Default: an equal share.")] = None,
    an_hour: Annotated[float, typer.Option(help="Questions answered per hour.")] = QUESTIONS_AN_HOUR,
    rate: Annotated[float | None, typer.Option(help="Pay per hour, in US dollars.")] = None,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Plan one domain: hours, pay, and how many answers an item keeps."""
    made = plan(questions, experts, own=own, questions_an_hour=an_hour, usd_an_hour=rate)
    if json_to:
        emit_json({name: value for name, value in asdict(made).items()}, json_to)  # noqa: C416 - the copy has the type
    if json_to != "-":
        from merilo.cli.experts_table import show_plan  # noqa: PLC0415 - the JSON needs no tables

        show_plan(made, an_hour, equal_shares=own is None)
    return 0


@app.command("baseline")
@takes_settings("repeats", "min_control_accuracy", "cluster")
@takes_settings(of=ExpertSettings, into="test")
def baseline_(
    files: Annotated[list[Path], typer.Argument(help="The experts' exports.")],
    *,
    people: Annotated[list[Path] | None, typer.Option(help="Exports of people without training on the same questions; may be given several times.")] = None,
    test: ExpertSettings,
    dataset_name: Annotated[str | None, typer.Option("--dataset", help="The dataset's name.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Gold answers: CSV, TSV, JSON or JSONL, joined on the inputs.")] = None,
    gold_column: Annotated[str | None, typer.Option(help="The column of gold answers, if it cannot be recognised by its name.")] = None,
    platform: Annotated[Platform | None, typer.Option(help="The platform that wrote the files. Default: recognised by the header.")] = None,
    answer: Annotated[str | None, typer.Option(help="The column of answers, if there are several.")] = None,
    recode: RecodeOption = None,
    item: Annotated[list[str] | None, typer.Option(help="A column that identifies an item (plain tables); may be given several times.")] = None,
    annotator: Annotated[str | None, typer.Option(help="The column of annotators' ids (plain tables).")] = None,
    seconds: Annotated[str | None, typer.Option(help="The column of durations of a page, in seconds (plain tables).")] = None,
    page: Annotated[str | None, typer.Option(help="The column of pages, whose items were answered together (plain tables).")] = None,
    encoding: Annotated[str | None, typer.Option(help="The files' encoding, if it is not UTF-8 and has no byte-order mark.")] = None,
    settings: Settings,
    population: PopulationOption = None,
    strata: StrataOption = None,
    out: Annotated[Path | None, typer.Option(help="A new folder for experts.json and, under the out-of-bag protocol, items.csv with every question.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing --out.")] = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Make the experts' baseline, and compare it with the baseline of people without training."""
    inputs = [
        *files,
        *(people or ()),
        *([gold] if gold else []),
        *([population] if population else []),
        *recoding_files(recode or ()),
    ]
    folder = OutFolder.checked(out, force=force, needed=inputs)
    refuse_json(json_to, inputs)

    def read(exports: list[Path], progress: Progress | None = None) -> StudyResponses:
        return read_responses(
            exports, platform=platform, dataset=dataset_name, item=item, annotator=annotator, answer=answer, page=page,
            seconds=seconds, encoding=encoding, progress=progress,
        )  # fmt: skip

    with reading(files) as progress:
        responses = read(files, progress)
    with working("Making the experts' baseline"):
        result = expert_baseline(
            responses, people=read(people) if people else None, test=test, dataset=dataset_name, gold=gold, gold_column=gold_column, recode=recode or (), settings=settings,
            population=population, strata=fields_of_strata(strata),
        )  # fmt: skip
    if result.outside:
        say(f"answers outside the labels, counted as votes: {told(result.outside)}")
    summary = result.save(folder.path, force=folder.force) if folder else result.to_dict()
    if json_to:
        emit_json(summary, json_to)
    if json_to != "-":
        from merilo.cli.experts_table import show_baselines  # noqa: PLC0415 - the JSON needs no tables

        show_baselines(summary, out)
    return 0
