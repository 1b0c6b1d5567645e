"""Warnings about answers that were collected with adaptive overlap."""

from __future__ import annotations

from merilo.baselines.warnings import BaselineWarning
from merilo.bilingual import counted, counted_en, form
from merilo.people.collection_design import CollectedDesign


def warnings_on_adaptive_overlap(found: CollectedDesign) -> tuple[BaselineWarning, ...]:
    """Return the warnings if answers do not follow the adaptive overlap, or if it can change the consensus.

    Args:
        found: the comparison of the answers with the design.
    """
    overlap = found.design.overlap
    made = []
    if found.fewer:
        made.append(
            BaselineWarning(
                "adaptive_fewer",
                f"{counted_en(found.fewer, 'item has', 'items have')} fewer answers than the adaptive overlap {overlap.start} to {overlap.limit} "
                "gives: the collection is not complete",
                f"у {counted(found.fewer, 'вопроса', 'вопросов', 'вопросов')} меньше ответов, чем предусмотрено адаптивным перекрытием "
                f"от {overlap.start} до {overlap.limit}: сбор ответов не завершён",
            )
        )
    if found.more:
        made.append(
            BaselineWarning(
                "adaptive_more",
                f"{counted_en(found.more, 'item has', 'items have')} more answers than the adaptive overlap {overlap.start} to {overlap.limit} "
                "gives: the answers were not collected with this design",
                f"у {counted(found.more, 'вопроса', 'вопросов', 'вопросов')} больше ответов, чем предусмотрено адаптивным перекрытием "
                f"от {overlap.start} до {overlap.limit}: ответы собраны по другому плану",
            )
        )
    if not overlap.decides_early:
        made.append(
            BaselineWarning(
                "adaptive_early",
                f"{overlap.start} equal answers are not a majority of {overlap.limit}, so the consensus can differ from that of {overlap.limit} "
                f"people, and this is not corrected; on the items with fixed overlap it differs on {found.changed} of the "
                f"{counted_en(found.checked, 'item', 'items')} on which the first {overlap.start} people agree",
                f"{counted(overlap.start, 'одинаковый ответ', 'одинаковых ответа', 'одинаковых ответов')} — не большинство из {overlap.limit}, "
                f"поэтому согласованный ответ может отличаться от ответа {overlap.limit} человек, и это не исправлено; среди вопросов с "
                f"постоянным перекрытием он {form(found.changed, 'отличается', 'отличаются', 'отличаются')} на {found.changed} из {found.checked}, "
                f"на которые первые {overlap.start} разметчика ответили одинаково",
            )
        )
    return tuple(made)
