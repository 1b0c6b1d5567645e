"""An answer is taken from a reply by a named rule, or there is none; no rule guesses."""

from every import every
from reply_corpus import CORPUS, Case

from merilo.datasets import dataset
from merilo.datasets.bundled import examples
from merilo.models.answer_extraction import extract
from merilo.models.asking import ModelReply, Request


@every("case", CORPUS, ids=lambda case: f"{case.dataset}-{case.reply[:40]!r}-{case.finish}")
def test_the_corpus_is_read_as_a_careful_reader_would(case: Case) -> None:
    declared = dataset(case.dataset)
    item = examples(declared)["test"].items[case.item - 1]
    found = extract(
        declared,
        item,
        Request(case.dataset, item.id, 1, (), ""),
        ModelReply(text=case.reply, finish=case.finish),
    )
    assert (found.outcome, found.answer) == (case.outcome, case.answer), found
