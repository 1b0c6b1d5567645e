"""`merilo audit`: find gold answers that are probably wrong, and wrong answers that are typing errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from merilo.cli.options import (
    MODELS,
    Exports,
    ForceOption,
    JsonOption,
    input_files,
    read_exports,
    takes_settings,
)
from merilo.cli.output import check_places, deliver, interval, number, say, show, show_table, working
from merilo.errors import UsageError, argument
from merilo.settings import INPUT, OUTPUT, InputSettings, Settings
from merilo.text import Text
from merilo.wording import shortened

if TYPE_CHECKING:
    from merilo.baselines.pipeline import Baseline
    from merilo.metrics.score import Score
    from merilo.people.audit.findings import Audit, Finding, StudyAudit

app = typer.Typer(add_completion=False)


@app.command()
@takes_settings(
    *("platform", "dataset", "gold", "gold_column", "answer", "item", "recode", "skills", "encoding"),
    *("annotator", "control", "page"),
    of=InputSettings,
    into="given",
)
@takes_settings(
    "metric", "alternatives", "min_control_accuracy", "min_controls", "min_votes", "resolve", "repeats"
)
def audit(
    files: Exports,
    *,
    given: InputSettings,
    revised: Annotated[
        Path | None,
        typer.Option(
            help="Decisions about gold answers, saved by review.html or filled in in audit.csv: the baseline is "
            "scored before and after.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="An export of another dataset with the same annotators, to judge them on it too; may be "
            "given several times.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    choice: Annotated[
        bool | None,
        typer.Option(
            "--choice/--open",
            help="Answers are labels, or typed freely. Default: labels if there are at most five.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            help="A model's answers, as in merilo baseline --model: people and models are then weighed together; may "
            "be given several times.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL",
            help="The family of a model, which is named by its file: models of a family never count as independent; "
            "may be given several times. Default: estimated from the errors that models share.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    settings: Settings,
    limit: Annotated[
        int,
        typer.Option(
            min=0, help="How many items to print; the files have all of them.", rich_help_panel=OUTPUT
        ),
    ] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for review.html (a page to decide item by item), audit.csv (the same to fill in), "
            "contested.csv and audit.json.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """List the items whose gold answer is probably wrong, and separate typing errors from dataset errors."""
    from merilo.baselines.audit import audit as find_wrong_golds  # noqa: PLC0415 - slow

    check_places(
        input_files([*files, revised, *(other or ()), *(model or ())], given), json_to, out, force=force
    )
    responses = read_exports(files, given, given.dataset)
    with working(Text("Comparing {n:,} answers with gold", n=responses.table.height)):
        result = find_wrong_golds(
            responses,
            dataset=given.dataset,
            gold=given.gold,
            gold_column=given.gold_column,
            revised=revised,
            skills=given.skills,
            others=other or (),
            choice=choice,
            models=model or (),
            families=_families(family or ()),
            settings=settings,
        )
    if out:
        from merilo.reports.gold_review import REVIEW_FILE, review_page  # noqa: PLC0415 - slow

        page = review_page(result)
        result.save(out, force=force, pages={REVIEW_FILE: page} if page else None)
    if not result.details.audit.golds:
        say(
            Text(
                "no item has a gold: only the items on which people disagree can be listed (add --gold FILE to "
                "look for wrong golds)"
            )
        )
    shown = partial(_show, result.details, result.before, result.after, limit=limit, out=out)
    deliver(json_to, result.to_dict, shown)
    return 0


def _families(given: Sequence[str]) -> dict[str, str]:
    """Return a mapping from model to the name of its family."""
    found: dict[str, str] = {}
    for word in given:
        name, _, run = word.partition("=")
        if not (name.strip() and run.strip()):
            raise UsageError(f"must be NAME=MODEL, not '{shortened(word)}'", field=argument("family"))
        if found.setdefault(run.strip(), name.strip()) != name.strip():
            raise UsageError(f"gives '{shortened(run)}' two families", field=argument("family"))
    return found


#: Longer item texts are cut on the terminal; the files have them in full.
_LONGEST_INPUT, _LONGEST_ANSWER, _LONGEST_NAME = 300, 120, 20


def _show(
    study: StudyAudit, before: Baseline, after: Baseline | None, *, limit: int, out: Path | None
) -> None:
    """Print the items to review, and the counts over all items, on standard output."""
    from merilo.baselines.audit import suspect_golds  # noqa: PLC0415 - slow
    from merilo.people.audit.findings import VERDICTS  # noqa: PLC0415
    from merilo.people.audit.typos import TYPING_ERRORS  # noqa: PLC0415

    found = study.audit
    suspects = suspect_golds(found)
    _blocks(Text("Items to read first: their gold may be wrong"), study, suspects[:limit])
    if not found.golds:
        _blocks(Text("Items on which people disagree"), study, found.contested[:limit])
    if found.golds:
        show(*_golds(found, len(suspects)))
    if found.golds < found.items:
        show(
            Text(
                "{n:# item|# items} without gold; people disagree on {contested} of them{listed}.",
                n=found.items - found.golds,
                contested=len(found.contested),
                listed=Text(" (listed in contested.csv)") if out and found.contested else "",
            )
        )
    counts: Counter[str] = Counter(one.verdict for one in chain(found.findings, found.contested))
    show(*(f"  {name}: {counts[name]}  ({text})" for name, text in VERDICTS.items() if counts[name]))
    show(*_models(found))
    for kind, n in found.typing_errors.items():
        show(
            Text(
                "  typing error, {kind}: {n:# answer|# answers}  ({meaning})",
                kind=kind,
                n=n,
                meaning=TYPING_ERRORS[kind],
            )
        )
    for name, score in before.scores.items() if after else ():
        show(
            Text(
                "{metric} before revision: {before}; after: {after}",
                metric=name,
                before=_figure(score),
                after=_figure(after.scores[name]) if after else "",
            )
        )
    if after and not before.scores:
        show(Text("Without gold answers nothing can be scored again (add --gold FILE)."))
    if out:
        show(Text("The list: {file}", file=out / "audit.csv"))
        if found.findings:
            show(Text("The page to decide item by item: {file}", file=out / "review.html"))


def _models(found: Audit) -> Iterator[Text]:
    """Yield a line for every model: as how many independent models it counts, and whether it repeats the gold."""
    joint = found.joint
    for place, name in enumerate(joint.names if joint else ()):
        if joint:
            yield Text(
                "  model {name} (family {family}): counts as {weight:.2f} of an independent model, accuracy "
                "{accuracy:.2f}, repeats the gold whatever the truth on {copied:.0%} of the items",
                name=name,
                family=joint.family[place],
                weight=float(joint.weight[place]),
                accuracy=float(joint.accuracy[place]),
                copied=float(joint.copied[place]),
            )


def _golds(found: Audit, suspects: int) -> Iterator[Text]:
    """Yield the summary over all gold answers."""
    from merilo.baselines.audit import LEAST_PROBABLE, number_of_wrong_golds  # noqa: PLC0415 - slow
    from merilo.people.audit.findings import FEWEST_EXPECTED  # noqa: PLC0415

    yield Text(
        "{n} of {golds:# item|# items} with gold {n:has|have} an answer that differs from it.",
        n=len(found.findings),
        golds=found.golds,
    )
    if not found.findings:
        return
    if max(len(one.answers) for one in found.findings) == 1:
        yield Text(
            "Each of them has one answer, so an answer that differs from the gold may be the annotator's error just "
            "as well."
        )
    first = found.to_review(0.9)
    yield number_of_wrong_golds(found)
    if first:
        yield Text(
            "The probabilities that a gold is wrong add up to {sum:.1f}; the {n:first item of the list holds|first "
            "# items of the list hold} 90 % of this.",
            sum=found.probable,
            n=first,
        )
    else:
        yield Text(
            "The probabilities that a gold is wrong add up to less than {least:g}, so the audit recommends no "
            "list to read.",
            least=FEWEST_EXPECTED,
        )
    if first and not suspects:
        yield Text(
            "No gold is wrong with a probability of {least:g} or more: the answers give no reason to doubt one.",
            least=LEAST_PROBABLE,
        )


def _blocks(title: Text, study: StudyAudit, findings: Sequence[Finding]) -> None:
    """Print a block of lines per item; in columns, a narrow terminal would have no room for the text."""
    from merilo.baselines.audit import model_answers, tally  # noqa: PLC0415 - slow
    from merilo.people.audit.findings import NONE_OF_THESE  # noqa: PLC0415
    from merilo.responses import INPUT_MARK  # noqa: PLC0415

    if findings:
        show(title, "")
    for rank, finding in enumerate(findings, start=1):
        number_of = study.numbers[finding.item]
        show(
            Text(
                "{rank}. item {item}{mark}: {doubt}{verdict}",
                rank=rank,
                item=number_of,
                mark=Text(" (control)") if number_of in study.controls else "",
                doubt="" if finding.gold is None else Text("P(gold wrong) {p:.3f}, ", p=finding.gold_wrong),
                verdict=finding.verdict,
            )
        )
        rows: list[tuple[object, object]] = [
            (shortened(name.removeprefix(INPUT_MARK), _LONGEST_NAME), shortened(text, _LONGEST_INPUT))
            for name, text in study.inputs[number_of].items()
            if text
        ]
        if finding.gold is not None:
            rows.append((Text("gold", context="row"), shortened(finding.gold, _LONGEST_ANSWER)))
        best = NONE_OF_THESE if finding.best is None else shortened(finding.best, _LONGEST_ANSWER)
        rows += [
            (Text("most probable"), f"{best} (P {number(finding.best_probability, '.3f')})"),
            (Text("answers", context="row"), shortened(tally(finding), _LONGEST_ANSWER)),
        ]
        if finding.models:
            rows.append((Text("models"), shortened(model_answers(finding), _LONGEST_ANSWER)))
            rows.append((Text("without models"), f"P {number(finding.people_wrong, '.3f')}"))
        show_table(((f"   {name} ", text) for name, text in rows), dense=True)
        show("")


def _figure(score: Score) -> Text:
    return Text(
        "{value:.3f}{interval} on {n:# item|# items}",
        value=score.value,
        interval=interval(score.interval),
        n=score.n,
    )
