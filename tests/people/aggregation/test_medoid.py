"""Ties between free answers go to the answer that is closest to the others."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from merilo.metrics.squad import token_f1
from merilo.people.aggregation import Resolution, break_ties_by_medoid, plurality
from merilo.people.votes import Votes

WORDS = ["лев", "толстой", "граф", "антон", "чехов"]
TEXTS = sorted({" ".join(pair).strip() for a in WORDS for b in ["", *WORDS] for pair in [(a, b)]})


@given(st.lists(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_medoid_is_found_by_trying_every_tied_answer(items: list[list[str]]) -> None:
    rows = [(i, j, TEXTS.index(text)) for i, given in enumerate(items) for j, text in enumerate(given)]
    votes = Votes(*np.array(rows, dtype=np.int32).T, len(items), 5, len(TEXTS))
    before = plurality(votes)
    found = break_ties_by_medoid(before, votes, TEXTS, token_f1)
    for item, answers in enumerate(items):
        counts = Counter(answers)
        tied = [text for text, n in counts.items() if n == max(counts.values())]
        if len(tied) == 1:
            assert (found.label[item], found.how[item]) == (before.label[item], before.how[item])
            continue
        sums = {text: sum(token_f1(text, other) for other in answers) for text in tied}
        best = [text for text in tied if sums[text] > max(sums.values()) - 1e-9]
        if len(best) == 1:
            assert TEXTS[found.label[item]] == best[0]
            assert found.how[item] == Resolution.MEDOID
        else:
            assert found.how[item] == Resolution.UNRESOLVED
