"""The three `transformers` classifiers used by J, on CPU or GPU (extra `hf`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from merilo.errors import InputError, MissingPartError, missing_extra
from merilo.metrics.detox import PARTS, Ratings
from merilo.records import Record
from merilo.statistics import FloatArray

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


IDENTITY: Final = Path(__file__).parent / "curves" / "identity.json"

_Unit: TypeAlias = Annotated[float, Field(ge=0, le=1)]
_Text: TypeAlias = Annotated[str, Field(min_length=1)]


class Curve(Record):
    """One curve.

    Attributes:
        x: the classifier's probabilities, strictly increasing, in [0, 1].
        y: the ratings they stand for, never decreasing, in [0, 1].
    """

    x: Annotated[tuple[_Unit, ...], Field(min_length=1)]
    y: tuple[_Unit, ...]

    @model_validator(mode="after")
    def _is_curve(self) -> Self:
        if len(self.x) != len(self.y):
            raise ValueError("must have x and y of equal length")
        if (np.diff(self.x) <= 0).any() or (np.diff(self.y) < 0).any():
            raise ValueError("must have x increasing strictly and y never decreasing")
        return self

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Return the ratings for probabilities, shape (n,).

        Example:
            >>> Curve(x=(0.0, 0.5, 1.0), y=(0.0, 0.8, 1.0))(np.array([0.25, 0.75])).tolist()
            [0.4, 0.9]
        """
        return np.asarray(np.interp(probabilities, self.x, self.y))


class Curves(Record):
    """The curves of J's parts: inoffensiveness, preservation of meaning, fluency."""

    sta: Curve
    sim: Curve
    fl: Curve


class Calibration(Record):
    """A file of calibration curves.

    Attributes:
        name: the name used in reports.
        provenance: who fitted them, to what, and where they were published.
        curves: the curves.
    """

    format: Literal["merilo-calibration/1"]
    name: _Text
    provenance: _Text
    curves: Curves


#: Inputs are truncated to this many tokens.
MAX_TOKENS: Final = 512

#: The number of sentences in a batch.
BATCH: Final = 32

#: The published models on the hub, and the class whose probability is used: its name or its index. STA: class 0 of the
#: toxicity classifier is "neutral".
PUBLISHED: Final[dict[str, tuple[str, str | int]]] = {
    "sta": ("IlyaGusev/rubertconv_toxic_clf", 0),
    "sim": ("s-nlp/rubert-base-cased-conversational-paraphrase-v1", "paraphrase"),
    "fl": ("s-nlp/ruRoberta-large-RuCoLa-v1", 1),
}


class Classifier:
    """A sequence classifier that returns the probability of one class, on a GPU if there is one.

    Args:
        model: a name on the hub, or a folder with a model and its tokenizer written by `save_pretrained`, which is read
            without network access.
        label: the class: its name or its index. For a model with a single output, the sigmoid of the output is
            returned.

    Raises:
        MissingPartError: the extra `hf` is not installed, or the model cannot be loaded.
        InputError: the model has no such class.
    """

    def __init__(self, model: str, label: str | int) -> None:
        if not _has_transformers():
            raise missing_extra("J", "hf")
        import torch  # noqa: PLC0415 - heavy, and only J needs it
        from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: PLC0415 - as above

        device, local = torch.device("cuda" if torch.cuda.is_available() else "cpu"), Path(model).is_dir()
        try:
            self.tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                model, local_files_only=local
            )
            network: PreTrainedModel = AutoModelForSequenceClassification.from_pretrained(
                model, local_files_only=local
            )
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise MissingPartError(f"the classifier '{model}' cannot be loaded ({reason})") from error
        self.device = device
        self.network = torch.nn.Module.train(torch.nn.Module.to(network, device), mode=False)
        self.index = _class_index(model, network.config.id2label or {}, label)

    def probabilities(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> FloatArray:
        """Return the probability of the class for each text or pair of texts, shape (n,).

        Sentences are batched by length to keep padding small; the results are in the order of the texts.
        """
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]) + (len(seconds[i]) if seconds else 0))
        shares = np.empty(len(texts))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            pairs = [seconds[i] for i in rows] if seconds else None
            shares[rows] = self._batch([texts[i] for i in rows], pairs)
        return shares

    def _batch(self, texts: list[str], seconds: list[str] | None) -> FloatArray:
        import torch  # noqa: PLC0415 - loaded by the constructor already

        words = self.tokenizer(
            texts, seconds, return_tensors="pt", padding=True, truncation=True, max_length=MAX_TOKENS
        ).to(self.device)
        with torch.inference_mode():
            logits: torch.Tensor = self.network(**words).logits.double()
            if self.index is None:
                return np.asarray(torch.sigmoid(logits)[:, 0].cpu().numpy())
            return np.asarray(torch.softmax(logits, dim=-1)[:, self.index].cpu().numpy())


class Classifiers:
    """Rates sentences for J: three classifiers, each followed by its calibration curve.

    Args:
        models: a folder with the models in `sta`, `sim` and `fl`; by default, the published models from the
            hub (or its local cache).
        curves: a file of calibration curves (`merilo.metrics.classifiers`); by default, the identity.

    Raises:
        MissingPartError: the extra `hf` is not installed, or a model cannot be loaded.
        InputError: a model folder or the file of curves is invalid.
    """

    def __init__(self, models: Path | None = None, curves: Path = IDENTITY) -> None:
        self.calibration = Calibration.read(curves)
        self.sources = {part: _source(models, part) for part in PARTS}
        self._classifiers = {part: Classifier(self.sources[part], PUBLISHED[part][1]) for part in PARTS}

    @property
    def making(self) -> dict[str, str]:
        """Return the models, and the calibration with its provenance."""
        calibration = {"calibration": self.calibration.name, "provenance": self.calibration.provenance}
        return {**self.sources, **calibration}

    def rate(self, toxic: Sequence[str], rewritten: Sequence[str]) -> Ratings:
        """Rate n pairs of a toxic sentence and its rewritten version."""
        curve = self.calibration.curves
        return Ratings(
            sta=curve.sta(self._classifiers["sta"].probabilities(rewritten)),
            sim=curve.sim(self._classifiers["sim"].probabilities(toxic, rewritten)),
            fl=curve.fl(self._classifiers["fl"].probabilities(rewritten)),
        )


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the progress bars and log messages of `transformers`; does nothing if it is not installed."""
    if not _has_transformers():
        yield
        return
    from transformers.utils import logging  # noqa: PLC0415 - heavy, and only J needs it

    before = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call] # transformers has no types for it
    logging.disable_progress_bar()  # type: ignore[no-untyped-call] # transformers has no types for it
    try:
        yield
    finally:
        logging.set_verbosity(before)
        logging.enable_progress_bar()  # type: ignore[no-untyped-call] # transformers has no types for it


def _has_transformers() -> bool:
    return find_spec("torch") is not None and find_spec("transformers") is not None


def _source(models: Path | None, part: str) -> str:
    if models is None:
        return PUBLISHED[part][0]
    folder = models / part
    if not folder.is_dir():
        raise InputError("is missing: expected one folder for each of sta, sim and fl", file=folder)
    if not (folder / "config.json").is_file():
        raise InputError(
            "is not a model folder written by 'save_pretrained': config.json is missing", file=folder
        )
    return str(folder)


def _class_index(model: str, names: Mapping[int, str] | Mapping[str, str], label: str | int) -> int | None:
    if len(names) == 1:
        return None
    indices = [int(index) for index, name in names.items() if label in {int(index), name}]
    if not indices:
        raise InputError(f"has no class '{label}' (it has {', '.join(names.values())})", file=model)
    return indices[0]
