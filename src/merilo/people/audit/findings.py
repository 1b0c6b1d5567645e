"""Items whose gold answer may be wrong.

A finding holds the answers that contradict the gold, their annotators, and the likely explanation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from merilo.people.audit.decisions import known_golds
from merilo.people.audit.gold_model import GoldModel, fit_gold_model
from merilo.people.audit.gold_range import GoldRange, wrong_gold_range
from merilo.people.audit.joint_model import JointModel, ModelVotes, fit_joint_model
from merilo.people.audit.typos import typing_error
from merilo.people.gold import Gold
from merilo.people.quality import Work, study_work, work_of
from merilo.people.quality.peers import Sharing, sharing
from merilo.people.votes import MOST_CLOSED_LABELS, Encoding, IntArray, Votes
from merilo.responses import Responses
from merilo.statistics import FloatArray
from merilo.text import Text

Verdict: TypeAlias = Literal["gold", "typing_error", "annotator", "disagreement", "models"]

#: Verdict -> its meaning.
VERDICTS: Final[Mapping[str, Text]] = {
    "gold": Text("the gold answer may be wrong: read this item first"),
    "typing_error": Text("every differing answer is a typing error"),
    "annotator": Text(
        "every differing answer comes from annotators who also disagree with the others on other items"
    ),
    "disagreement": Text(
        "annotators who agree with the others on other items disagree here: the item is hard, ambiguous or wrong"
    ),
    "models": Text("every annotator agrees with the gold answer, and models contradict it"),
}

#: The label shown if the truth is more probably none of the answers given.
NONE_OF_THESE: Final = "none of these"

#: Typing errors that can occur if the answer is a choice among few labels: one label is never a typing error of
#: another.
_OF_CHOICES: Final = frozenset({"notation", "case", "layout", "alphabet"})

#: An annotator agrees with the others elsewhere if their agreement is at least 0.9 of what the others reach on the same
#: items, on three items or more.
SHARE_OF_EXPECTED, FEWEST_ITEMS = 0.9, 3

PROBABLY = 0.5


#: If the probabilities add up to fewer wrong golds, no list is recommended.
FEWEST_EXPECTED = 0.5

#: If the range of wrong golds begins at 0, an expected number is given only if it ends below this share of the golds.
FEW_GOLDS = 0.1

#: With models, an item on which every annotator agrees with the gold is a finding from this probability on.
LEAST_BY_MODELS = 0.05


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One annotator's answer to a suspect item.

    Attributes:
        annotator: the annotator's id.
        answer: the answer.
        elsewhere: the annotator's agreement with the others on all other items, those of other datasets among
            them; NaN if there are none.
        agrees_elsewhere: whether this is at least 0.9 of the others' agreement there; `None` with fewer than three
            other items.
        accuracy: the probability, by the model, that the annotator answers an item of average difficulty correctly.
        typing_error: the kind of typing error that turns the most probable truth into this answer, a key of
            `TYPING_ERRORS`; `None` if it is not a typing error.
    """

    annotator: str
    answer: str
    elsewhere: float
    agrees_elsewhere: bool | None
    accuracy: float
    typing_error: str | None


@dataclass(frozen=True, slots=True)
class AuditModels:
    """Models whose answers are audited together with those of people.

    Attributes:
        answers: model's name -> item's number -> answer, in the spelling of the study.
        families: model's name -> the name of its family; models without one are clustered by their shared errors.
    """

    answers: Mapping[str, Mapping[int, str]]
    families: Mapping[str, str]


def shared_items(work: Work) -> FloatArray:
    """Sum every annotator's agreement with the others over the items that others answered too.

    Returns:
        Shape (annotators, 3): the sum over items of the share of the others who gave the same answer; the sum of that
        share for an annotator drawn at random from those who answered the item; and the number of items.
    """
    beside = sharing(work)
    person, people = work.votes.annotator[beside.row], work.votes.annotators
    weights = (beside.share, _typical_share(work, beside), None)
    return np.stack([np.bincount(person, one, people).astype(np.float64) for one in weights], axis=1)


@dataclass(frozen=True, slots=True)
class Finding:
    """One item on which an answer differs from the gold or, without gold, from the most probable truth.

    Attributes:
        item: the item's position, 0-based, in the order of the codes.
        gold: the gold answer; `None` if it is not known.
        gold_wrong: the probability that it is wrong, NaN without gold.
        log_odds: the natural logarithm of its odds, by which findings are ranked; NaN without gold.
        best: the most probable truth: the gold, unless that is probably wrong, else one of the answers given;
            `None` if the truth is more probably another label.
        best_probability: its probability, or that of "none of these".
        error_chance: the probability that an annotator of average ability answers this item wrong.
        verdict: what the answers most likely mean, a key of `VERDICTS`.
        answers: all answers, the most given first.
        people_wrong: with models, the probability from people alone that the gold is wrong; else NaN.
        models: model's name -> its answer, of the models that answered the item.
    """

    item: int
    gold: str | None
    gold_wrong: float
    log_odds: float
    best: str | None
    best_probability: float
    error_chance: float
    verdict: Verdict
    answers: tuple[GivenAnswer, ...]
    people_wrong: float = float("nan")
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def votes_for_gold(self) -> int:
        """The number of answers equal to the gold."""
        return sum(one.answer == self.gold for one in self.answers)


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of auditing the gold answers against the annotators' answers.

    Attributes:
        findings: items with a gold and an answer that differs from it, the most probably wrong gold first.
        contested: items without gold on which answers differ, the least certain truth first.
        items: how many items were audited.
        golds: how many of them have a gold.
        probable: the sum of the probabilities that the golds are wrong. Too large where an item's wrong answer
            attracts people more strongly than the model assumes.
        wrong_golds: the range of the number of wrong golds; `None` if the answers do not bound it.
        typing_errors: kinds of typing error -> how many answers.
        model: the fitted model; with models, its probabilities are those of people and models together.
        joint: what was estimated about the models; `None` without models.
    """

    findings: tuple[Finding, ...]
    contested: tuple[Finding, ...]
    items: int
    golds: int
    probable: float
    wrong_golds: GoldRange | None
    typing_errors: Mapping[str, int]
    model: GoldModel
    joint: JointModel | None = None

    @property
    def expected_wrong(self) -> float | None:
        """Return the expected number of wrong golds, or `None` if the answers do not determine it.

        They do not if there is no range, if the model's number is outside of it, or if its lower end is 0, unless
        the model expects almost none and the upper end is low too: attractive wrong answers may then explain all
        that contradicts the golds.
        """
        bounds = self.wrong_golds
        if bounds is None:
            return None
        if bounds.low:
            return self.probable if bounds.low <= round(self.probable) <= bounds.high else None
        few = self.probable < FEWEST_EXPECTED and bounds.high <= FEW_GOLDS * self.golds
        return self.probable if few else None

    def to_review(self, share: float = 0.9) -> int:
        """Return how many of the first findings contain this share of the sum of the probabilities.

        0 if the probabilities add up to less than half a wrong gold: then the audit recommends no list to read.

        Args:
            share: 0 to 1.
        """
        held = np.cumsum([one.gold_wrong for one in self.findings])
        wanted = share * self.probable
        return (
            0
            if wanted <= 0 or self.probable < FEWEST_EXPECTED
            else min(len(held), int(np.searchsorted(held, wanted - 1e-9)) + 1)
        )


def audit(
    votes: Votes,
    gold: IntArray,
    annotators: Sequence[str],
    labels: Sequence[str],
    *,
    choice: bool | None = None,
    others: Mapping[str, FloatArray] | None = None,
    models: ModelVotes | None = None,
) -> Audit:
    """Find the items whose gold is probably wrong, and distinguish typing errors from errors of the dataset.

    Args:
        votes: the answers, including those to controls; of several answers by one annotator to an item the first
            counts.
        gold: shape (items,), codes of the golds, -1 if unknown.
        annotators: shape (annotators,), the ids behind the codes.
        labels: shape (labels,), the labels behind the codes.
        choice: whether answers are a choice among few labels, in which case one label is never a typing error of
            another; by default, true for up to five labels.
        others: annotator's id -> their agreement with others on other datasets, as `shared_items` counts it.
        models: the answers of models, which are weighed together with those of people.

    Returns:
        The audit.
    """
    work = work_of(votes)
    votes = votes.where(np.isin(np.arange(len(votes)), work.rows_of_items()))
    joint = fit_joint_model(votes, gold, models) if models else None
    model = joint.gold if joint else fit_gold_model(votes, gold)
    if choice is None:
        choice = len(labels) <= 5
    outside = np.zeros((votes.annotators, 3))
    for code, name in enumerate(annotators):
        if others and name in others:
            outside[code] = others[name]
    given = _given_answers(votes, model, annotators, labels, gold, outside=outside, choice=choice)
    findings = []
    for item, answers in enumerate(given):
        best, known = int(model.best[item]), int(gold[item])
        truth = labels[known] if known >= 0 else (labels[best] if best >= 0 else None)
        wrong = float(model.gold_wrong[item])
        agreed = all(one.answer == (truth or answers[0].answer) for one in answers)
        if not answers or (agreed and not (models and known >= 0 and wrong >= LEAST_BY_MODELS)):
            continue
        findings.append(
            Finding(
                item=item,
                gold=labels[known] if known >= 0 else None,
                gold_wrong=wrong,
                log_odds=float(model.log_odds[item]),
                best=labels[best] if best >= 0 else None,
                best_probability=float(model.best_probability[item]),
                error_chance=float(model.error_chance[item]),
                verdict=_verdict(answers, truth, wrong),
                answers=answers,
                people_wrong=float(joint.people_wrong[item]) if joint else float("nan"),
                models={
                    name: labels[code]
                    for name, code in zip(models.names, models.label[:, item].tolist(), strict=True)
                    if code >= 0
                }
                if models
                else {},
            )
        )
    suspects = [one for one in findings if one.gold is not None]
    suspects.sort(key=lambda one: (-one.log_odds, one.votes_for_gold / len(one.answers), one.item))
    contested = [one for one in findings if one.gold is None]
    contested.sort(key=lambda one: (one.best_probability if one.best is not None else 0.0, one.item))
    kinds = Counter(one.typing_error for finding in findings for one in finding.answers if one.typing_error)
    return Audit(
        tuple(suspects),
        tuple(contested),
        votes.items,
        int((gold >= 0).sum()),
        float(np.nansum(model.gold_wrong)),
        wrong_gold_range(votes, gold),
        dict(kinds.most_common()),
        model,
        joint,
    )


def _given_answers(
    votes: Votes,
    model: GoldModel,
    annotators: Sequence[str],
    labels: Sequence[str],
    gold: IntArray,
    *,
    outside: FloatArray,
    choice: bool,
) -> list[tuple[GivenAnswer, ...]]:
    """Return the answers to every item, with the properties of their annotators."""
    elsewhere, agrees = _elsewhere(work_of(votes), outside)
    result: list[list[GivenAnswer]] = [[] for _ in range(votes.items)]
    kinds: dict[tuple[int, int], str | None] = {}
    order = np.lexsort((votes.annotator, votes.label, -votes.agreeing()))
    columns = (votes.item, votes.annotator, votes.label, elsewhere, agrees)
    for item, person, label, share, agreeing in zip(*(one[order].tolist() for one in columns), strict=True):
        doubted = gold[item] < 0 or model.gold_wrong[item] >= PROBABLY
        truth = int(model.best[item] if doubted else gold[item])
        pair = label, truth
        if pair not in kinds:
            wrong = truth >= 0 and truth != label
            kind = typing_error(labels[label], labels[truth]) if wrong else None
            kinds[pair] = kind if kind in _OF_CHOICES or not choice else None
        result[item].append(
            GivenAnswer(
                annotators[person],
                labels[label],
                share,
                agreeing,
                float(model.accuracy[person]),
                kinds[pair],
            )
        )
    return [tuple(answers) for answers in result]


def _typical_share(work: Work, beside: Sharing) -> FloatArray:
    """Return, for each compared answer, the mean share over all answers to its item."""
    item = work.votes.item[beside.row]
    answers = np.maximum(1, np.bincount(item, minlength=work.votes.items))
    typical: FloatArray = (np.bincount(item, beside.share, work.votes.items) / answers)[item]
    return typical


def _elsewhere(work: Work, outside: FloatArray) -> tuple[FloatArray, NDArray[np.object_]]:
    """Compute each answer's annotator's agreement on all other items, and whether it is as high as the others'.

    The second is `None` for annotators with too few other items.
    """
    beside = sharing(work)
    own, expected, items = (shared_items(work) + outside)[work.votes.annotator].T.copy()
    own[beside.row] -= beside.share
    expected[beside.row] -= _typical_share(work, beside)
    items[beside.row] -= 1
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(items > 0, own / items, np.nan)
    good = (own >= SHARE_OF_EXPECTED * expected - 1e-9).astype(object)
    good[items < FEWEST_ITEMS] = None
    return share, good


def _verdict(answers: Sequence[GivenAnswer], truth: str | None, gold_wrong: float) -> Verdict:
    if gold_wrong >= PROBABLY:
        return "gold"
    others = [one for one in answers if one.answer != truth]
    if not others:
        return "models"
    if all(one.typing_error for one in others):
        return "typing_error"
    # An annotator with too few other answers to be judged does not count as disagreeing.
    if all(one.typing_error or one.agrees_elsewhere is False for one in others):
        return "annotator"
    return "disagreement"


@dataclass(frozen=True, slots=True)
class StudyAudit:
    """An audit with the items that it covers.

    Attributes:
        audit: what was found; `Finding.item` counts along `numbers`.
        numbers: shape (items,), the items' numbers in the study.
        inputs: item's number -> its input texts, by field.
        ids: item's number -> the dataset's id, if the gold file gives one.
        controls: the numbers of control items.
    """

    audit: Audit
    numbers: tuple[int, ...]
    inputs: Mapping[int, Mapping[str, str | None]]
    ids: Mapping[int, str]
    controls: frozenset[int]


def agreement_in(studies: Iterable[Responses]) -> dict[str, FloatArray]:
    """Return every annotator's `shared_items` in these studies together, by the annotator's id."""
    result: dict[str, FloatArray] = {}
    for responses in studies:
        coded = study_work(responses)
        for name, shared in zip(coded.annotators, shared_items(coded.work), strict=True):
            result[name] = shared + result.get(name, 0.0)
    return result


def audit_study(
    responses: Responses,
    gold: Gold | None,
    *,
    choice: bool | None = None,
    encoding: Encoding | None = None,
    others: Mapping[str, FloatArray] | None = None,
    models: AuditModels | None = None,
) -> StudyAudit:
    """Audit a study's items and controls.

    Annotators who fail the controls are not left out: the model weights each annotator by ability, and the
    known answer of a control that good annotators fail may itself be wrong.

    Args:
        responses: the responses, controls among them.
        gold: the gold answers to the test items, if they are known.
        choice: whether answers are a choice among few labels; by default decided by the number of labels.
        encoding: the votes of all these responses, as a baseline has in `pool.everyone`; by default, they are
            encoded here.
        others: annotator's id -> their agreement with others on other datasets, as `shared_items` counts it.
        models: models whose answers are weighed together with those of people.

    Returns:
        The audit.
    """
    known = known_golds(responses, gold)
    labels = {*known.values()}
    if models:
        given = {*labels, *responses.table["answer"].drop_nulls().unique()}
        # Where answers are a choice, another text of a model is no answer; where they are free, it is one.
        if not (len(given) <= MOST_CLOSED_LABELS if choice is None else choice):
            labels.update(text for answers in models.answers.values() for text in answers.values())
    coded = study_work(responses, sorted(labels), encoding=encoding)
    code = {label: place for place, label in enumerate(coded.labels)}
    codes = np.array([code[known[n]] if n in known else -1 for n in coded.items], dtype=np.int32)
    found = audit(
        coded.work.votes,
        codes,
        coded.annotators,
        coded.labels,
        choice=choice,
        others=others,
        models=_model_votes(models, coded.items, code) if models else None,
    )
    fields = responses.fields
    inputs = {
        row["item"]: {name: row[name] for name in fields} for row in responses.items.iter_rows(named=True)
    }
    ids = gold.answers.filter(pl.col("id").is_not_null()).select("item", "id") if gold else None
    controls = responses.table.filter("is_control")["item"].unique()
    return StudyAudit(
        found,
        coded.items,
        inputs,
        dict(ids.iter_rows()) if ids is not None else {},
        frozenset(controls.to_list()),
    )


def _model_votes(models: AuditModels, items: Sequence[int], code: Mapping[str, int]) -> ModelVotes:
    """Encode the answers of models; texts without a code are no answers."""
    names = tuple(models.answers)
    label = np.array(
        [[code.get(answers.get(number, ""), -1) for number in items] for answers in models.answers.values()],
        dtype=np.int32,
    ).reshape(len(names), len(items))
    return ModelVotes(names, label, tuple(models.families.get(name, "") for name in names))
