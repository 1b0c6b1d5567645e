"""Writing the human estimates into `raw_dataset_meta.json` without other changes of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from merilo.errors import DataError
from merilo.reports.json_editing import decoded_object, encoded_like, with_members
from merilo.reports.json_record import mapping_at, number_at, text_at, value_at
from merilo.reports.metric_names import display_names
from merilo.strict_json import Json

META_FILE: Final = "raw_dataset_meta.json"
HUMAN: Final = "human_benchmark"

#: Digits of a published value after the decimal point.
DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class MetadataCard:
    """Metadata with the human estimates.

    Attributes:
        content: the bytes of the new file.
        written: display name -> figure, as written.
        kept: metrics of the file that the baseline did not measure and that keep their value.
        missing: metrics of the file that have no human estimate.
    """

    content: bytes
    written: Mapping[str, float]
    kept: tuple[str, ...]
    missing: tuple[str, ...]


def metadata_with_human_benchmark(
    raw: bytes,
    baseline: Mapping[str, Json],
    *,
    names: Mapping[str, str] | None = None,
    file: str = META_FILE,
) -> MetadataCard:
    """Set `human_benchmark` in the metadata under the display names that the file's `metrics` use.

    Every other byte of the file stays as it is. Values are rounded to four places.

    Args:
        raw: the file `raw_dataset_meta.json`.
        baseline: the JSON of the baseline; for a dataset of experts the JSON of `merilo experts baseline`, whose experts give the
            figures.
        names: our metric -> display name, for metrics whose display name does not tell.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the baseline is rejected, simulated or has no metric, or the file has none of its metrics.
    """
    if text_at(baseline, "status") == "rejected":
        raise DataError(
            f"{HUMAN} is not written: the baseline is rejected, so its estimate must not be published",
            file=file,
            field=HUMAN,
        )
    if value_at(baseline, "simulated") is True:
        raise DataError(f"{HUMAN} is not written: the annotators are simulated", file=file, field=HUMAN)
    text, meta = decoded_object(raw, file)
    figures = _figures(baseline)
    if not figures:
        raise DataError(
            f"{HUMAN} is not written: the baseline has no metric, because it has no gold answers",
            file=file,
            field=HUMAN,
        )
    displayed = list(mapping_at(meta, "metrics"))
    chosen = _chosen(names or {}, figures, displayed, file)
    others = [name for name in figures if name not in chosen]
    shown = {
        **display_names(others, [name for name in displayed if name not in chosen.values()]),
        **chosen,
    }
    if not shown:
        raise DataError(
            f"none of the baseline's metrics ({', '.join(figures)}) is among the file's ({', '.join(displayed) or 'none'})",
            file=file,
            field="metrics",
        )
    written = {display: round(figures[name], DIGITS) for name, display in shown.items()}
    before = mapping_at(meta, HUMAN)
    new = with_members(text, dict(written), inside=HUMAN)
    return MetadataCard(
        content=encoded_like(raw, new),
        written=written,
        kept=tuple(name for name in before if name not in written),
        missing=tuple(name for name in displayed if name not in written and name not in before),
    )


def _figures(baseline: Mapping[str, Json]) -> dict[str, float]:
    """Return the values of the metrics; of an expert study, those of the experts."""
    chosen = mapping_at(baseline, "human_benchmark", "metrics")
    metrics = chosen or mapping_at(baseline, "metrics") or mapping_at(baseline, "experts", "metrics")
    values = {name: number_at(metrics, name, "value") for name in metrics}
    return {name: value for name, value in values.items() if value is not None}


def _chosen(
    names: Mapping[str, str], figures: Mapping[str, float], displayed: list[str], file: str
) -> Mapping[str, str]:
    for name, display in names.items():
        if name not in figures:
            raise DataError(f"'{name}' is not a metric of the baseline ({', '.join(figures)})", file=file)
        if display not in displayed:
            raise DataError(
                f"'{display}' is not one of the file's metrics ({', '.join(displayed)})",
                file=file,
                field="metrics",
            )
    return names
