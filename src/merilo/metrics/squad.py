"""F1 and exact match of free short answers over alternatives, by SQuAD's rule (CheGeKa, MultiQ)."""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import Final

from merilo.items import Item
from merilo.metrics.answers import Answer, Given, alternatives, gold_label

#: The separator between the alternatives of a gold answer.
ALTERNATIVES: Final = ";"

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Normalise a text: lower case, no ASCII punctuation, no English articles, single spaces.

    Only the 32 ASCII punctuation marks are removed, as in SQuAD; guillemets and dashes stay. Articles are removed after
    punctuation.

    Example:
        >>> normalised("  The  «War and peace», (novel)! ")
        '«war and peace» novel'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(answer: str, alternative: str) -> float:
    """Compute F1 of the two bags of tokens after normalisation, for one alternative.

        F1 = 2 P R / (P + R),  P = common / answer's tokens,  R = common / alternative's tokens

    If either side has no tokens, F1 is 1 if neither has, else 0.

    Example:
        >>> token_f1("leo tolstoy", "Tolstoy")
        0.6666666666666666
    """
    tokens, true = normalised(answer).split(), normalised(alternative).split()
    if not tokens or not true:
        return float(tokens == true)
    common = (Counter(tokens) & Counter(true)).total()
    if not common:
        return 0.0
    precision, recall = common / len(tokens), common / len(true)
    return 2 * precision * recall / (precision + recall)


def best_f1(answer: str, gold: str, separator: str | None = ALTERNATIVES) -> float:
    """Return the best `token_f1` of an answer over the gold answer's alternatives."""
    return max(token_f1(answer, text) for text in alternatives(gold, separator))


def f1(form: Answer, item: Item, answer: Given) -> float:
    """Return the best `token_f1` of an answer over the gold answer's alternatives.

    References:
        P. Rajpurkar et al. (2016), SQuAD: 100,000+ questions for machine comprehension of text; the evaluation script
        of SQuAD 2.0 for empty answers.

    Example:
        >>> f1(Answer(kind="text", alternatives=";"), Item(1, "", "", "Tolstoy; L. Tolstoy"), "Leo Tolstoy")
        0.6666666666666666
    """
    return best_f1(str(answer), gold_label(item), form.alternatives)


def steps(form: Answer, item: Item, answer: Given) -> list[str]:
    """Explain how token F1 and exact match judge one answer: each alternative after normalisation."""
    plain = normalised(str(answer))
    lines = [f"answer {answer!r} normalised to {plain!r} (lower-case, no punctuation, no English articles)"]
    for text in alternatives(gold_label(item), form.alternatives):
        shape = normalised(text)
        equal = ", equal" if shape == plain else ""
        share = token_f1(str(answer), text)
        lines.append(f"alternative {text!r} normalised to {shape!r}: token F1 {share:.4g}{equal}")
    return lines
