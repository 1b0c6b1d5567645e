"""`merilo compare`: compare people with models on the same items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from merilo.api.comparison import compare
from merilo.baselines.run_samples import run_outcomes
from merilo.cli.output import emit_json, refuse_json, say, working
from merilo.reports.comparison import baseline_warnings, sentences

app = typer.Typer(add_completion=False)


@app.command()
def people_against_models(
    baseline: Annotated[Path, typer.Argument(help="The human baseline: a folder written by 'merilo baseline --out'.")],
    responses: Annotated[list[Path], typer.Argument(help="The models' answers, one file per model: id, answer, and sample if there are several per item; CSV, TSV, JSON or JSONL; or logs of lm-eval, Inspect, HELM or a batch.")],
    *,
    data: Annotated[Path | None, typer.Option(help="The items with ids and gold answers, if the baseline was made without them.")] = None,
    metric: Annotated[str | None, typer.Option(help="A metric that suits the answers (acc, em, f1, f1_macro, mcc, grade_norm). Default: the baseline's.")] = None,
    margin: Annotated[float | None, typer.Option(help="The largest difference that counts as none, for the verdict 'at human level': 0.02. Default: the margin of the study's frozen plan, if there is one.")] = None,
    force: Annotated[bool, typer.Option("--force", help="If the items differ, compare on those that both answered.")] = False,
    min_answers: Annotated[int, typer.Option(min=1, help="Annotators with fewer answers are left out of the model's percentile rank among annotators.")] = 10,
    by: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="Compare the distributions of labels for each value of this field of the items too (may be repeated).")] = None,
    cluster: Annotated[str | None, typer.Option(metavar="FIELD", help="A field of the items, such as a text: items with the same value form a cluster, which every interval and test takes into account. Default: the baseline's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed of permutations and bootstrap resamples.")] = 0,
    json_to: Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as one JSON object; - is standard output.")] = None,
) -> int:  # fmt: skip
    """Compare people with models on the same items: a verdict, differences with intervals, tests, detectable differences.

    Exit status 1: a model's items are not those of the baseline, and --force was not given.
    """
    refuse_json(json_to, [baseline / "baseline.json", *responses, *([data] if data else [])])
    with working("Comparing people with models"):
        result = compare(
            baseline,
            responses,
            data=data,
            metric=metric,
            margin=margin,
            force=force,
            min_answers=min_answers,
            by=by or (),
            cluster=cluster,
            seed=seed,
        )
    if json_to:
        emit_json(result.to_dict(), json_to)
    if json_to != "-":
        from merilo.cli.compare_table import show  # noqa: PLC0415 - the JSON needs no tables

        show(result.found, result.metric)
        from merilo.cli.disagreement_table import show_disagreement  # noqa: PLC0415 - as above

        show_disagreement(result.disagreements)
    for warning in baseline_warnings(result.baseline):
        say(warning)
    for comparison in result.found:
        for sentence in sentences(comparison):
            say(f"{comparison.model}: {sentence}")
    for path, comparison in zip(responses, result.found, strict=True):
        if told := run_outcomes(path, result.baseline.declaration.name):
            say(f"{comparison.model}: {told}; these count as wrong, except requests without a reply")
    return 0
