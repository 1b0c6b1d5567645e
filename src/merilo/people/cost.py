"""The cost and the time of the annotation.

A page is paid once, regardless of the number of its rows in an export.
"""

from __future__ import annotations

from math import fsum
from typing import Final

import polars as pl

from merilo.people.spelling import NOT_SHOWN
from merilo.records import Record
from merilo.responses import Responses, answer_seconds, page_of
from merilo.text import Text

#: More characters a second than anyone can read: a fast reader reaches 25 to 30, skimming 60.
READING_LIMIT: Final = 100.0


class PublishedCost(Record):
    """Money as published tables compute it.

    Attributes:
        total: the reward added over the rows of test items: a page that holds two test items is counted twice.
        hourly: the mean over those rows of `3600 / seconds x reward`, with whole seconds, fractions cut off.
    """

    total: float | None = None
    hourly: float | None = None


class Cost(Record):
    """Money and time of a study.

    Attributes:
        total: the sum of the rewards of all pages.
        pages: how many pages were paid, including those without a usable answer; without pages, each answer is one.
        answers: how many answers there are on these pages, control items included.
        hours: the time spent on those pages; null if the export has no times.
        hourly: `total / hours`.
        currency: the currency, if it is known.
        median_seconds_per_answer: the median time of one answer: a page's time shared equally among its rows.
        published_way: the same as published tables compute it.
    """

    total: float | None = None
    pages: int | None = None
    answers: int | None = None
    hours: float | None = None
    hourly: float | None = None
    currency: str | None = None
    median_seconds_per_answer: float | None = None
    published_way: PublishedCost = PublishedCost()

    @property
    def per_answer(self) -> float | None:
        """Return the pay for an answer, those to control items and of excluded people included."""
        return self.total / self.answers if self.total is not None and self.answers else None


def cost(responses: Responses, currency: str | None = None) -> Cost:
    """Compute the cost of a study: per page, and as published tables compute it.

    Args:
        responses: all responses of the study, including those of excluded annotators, who were paid as well.
        currency: the currency, if the platform does not give it.
    """
    asked = responses.table.filter(pl.col("answer").ne_missing(NOT_SHOWN))
    table = asked.with_columns(page_of().alias("page"))
    pages = table.group_by("file", "page", "respondent", maintain_order=True).agg(
        pl.col("page_reward", "page_seconds").drop_nulls().first(), pl.len().alias("rows")
    )
    if responses.lost_pages is not None:
        pages = pl.concat([pages, responses.lost_pages], how="diagonal")
    rewards = pages["page_reward"].drop_nulls()
    total = _sum(rewards) if len(rewards) else None
    timed = pages.filter(pl.col("page_seconds") > 0)
    seconds = _sum(timed["page_seconds"])
    paid_and_timed = _sum(timed["page_reward"])
    rows = table.filter(~pl.col("is_control"), pl.col("page_reward").is_not_null())
    whole = pl.col("page_seconds").floor()
    rate = rows.filter(whole > 0).select(3600 / whole * pl.col("page_reward"))
    per_answer = timed.drop_nulls("rows").select(
        (pl.col("page_seconds") / pl.col("rows")).repeat_by("rows").explode()
    )
    return Cost(
        total=_rounded(total),
        pages=pages.height,
        answers=table.height,
        hours=_rounded(seconds / 3600) if timed.height else None,
        hourly=_rounded(paid_and_timed / seconds * 3600) if seconds and total is not None else None,
        currency=(currency or responses.currency) if total is not None else None,
        median_seconds_per_answer=_rounded(per_answer.to_series().median()) if timed.height else None,
        published_way=PublishedCost(
            total=_rounded(_sum(rows["page_reward"])) if rows.height else None,
            hourly=_rounded(_sum(rate.to_series()) / rate.height) if rate.height else None,
        ),
    )


def faster_than_reading(responses: Responses) -> pl.DataFrame:
    """Return whether each answer was given faster than anyone can read its item.

    Returns:
        Columns `respondent` and `fast`, a row an answer; `fast` is null where the time is not known.
    """
    texts = (pl.col(name).cast(pl.String).str.len_chars().fill_null(0) for name in responses.fields)
    lengths = responses.items.select("item", length=pl.sum_horizontal(texts))
    timed = responses.table.select("respondent", "item", seconds=answer_seconds())
    read = timed.join(lengths, on="item", how="left", maintain_order="left")
    return read.select("respondent", fast=pl.col("length") > READING_LIMIT * pl.col("seconds"))


def paid_work(pages: int | None, answers: int | None) -> Text:
    """Say how many pages were paid; answers, if each has a page of its own: a study's plan counts its pages otherwise.

    Example:
        >>> paid_work(250, 750).en, paid_work(200, 200).en
        ('250 pages', '200 answers')
    """
    each = pages == answers
    return (
        Text("{n:# answer|# answers}", n=pages or 0)
        if each
        else Text("{n:# page|# pages}", context="paid", n=pages or 0)
    )


def _sum(values: pl.Series) -> float:
    """Compute the exact sum, independent of the order of the rows."""
    return fsum(values.drop_nulls().to_list())


def _rounded(value: object) -> float | None:
    """Round to six places, so that the order of summation makes no difference."""
    return None if not isinstance(value, int | float) else round(float(value), 6)
