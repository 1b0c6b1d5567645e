"""What the consent page tells about a study, and the answers to the questions about people."""

from __future__ import annotations

from typing import TypeAlias

from merilo.site.answer_export import answer_reward
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import Form, field
from merilo.studies.plan import OwnWords
from merilo.text import Money, Text

Fact: TypeAlias = tuple[Text, Text | str]


def consent_facts(study: ServedStudy, most: int, training: int) -> list[Fact]:
    """Return what the plan says about the study and what follows from it: the name of a fact, and the fact.

    Args:
        study: the study.
        most: the most tasks of the person.
        training: their training items.
    """
    consent, arm = study.folder.plan.consent, study.arm
    minutes = consent.minutes or 60 * (most + training) / arm.items_per_hour
    reward = answer_reward(study)
    whole = (
        Text("about {n:# minute|# minutes}", n=max(1, round(minutes)))
        if minutes < 100
        else Text("about {n:.1f} hours", n=minutes / 60)
    )
    facts: list[tuple[Text, Text | str | None]] = [
        (Text("Who asks"), _text(consent.organisation)),
        (Text("Contact"), consent.contact),
        (Text("Purpose"), _text(consent.purpose)),
        (Text("Tasks"), Text("at most {n:,}", n=most)),
        (Text("Time"), whole),
        (Text("Pay"), None if reward is None else _pay(Money(reward, arm.pay.currency), most)),
        (Text("Training"), _of_training(study, training)),
        (Text("Ethics review"), _text(consent.ethics)),
        (Text("Data about you"), _text(consent.data)),
        (Text("Kept for"), _text(consent.kept)),
    ]
    return [(name, fact) for name, fact in facts if fact]


def _of_training(study: ServedStudy, count: int) -> Text | None:
    """What happens to somebody who does not pass the training."""
    if not count:
        return None
    paid = study.arm.pay
    if not paid.screening:
        return Text("{n:# task|# tasks} before the others, not paid", n=count)
    amount = Money(paid.screening, paid.currency)
    return Text(
        "{n:# task|# tasks} before the others; if you do not pass it, you get {amount}",
        n=count,
        amount=amount,
    )


def _text(words: OwnWords | None) -> Text | None:
    return words.given if words else None


def _pay(each: Money, most: int) -> Text:
    if not each.amount:
        return Text("taking part is not paid")
    whole = Money(each.amount * most, each.currency)
    return Text("{whole} for all tasks; fewer tasks are paid by their number", whole=whole)


def told_options(study: ServedStudy, form: Form) -> dict[str, int]:
    """Read the answers to the questions about a person: name of a question -> place of the chosen option.

    A question without an option of the plan was declined.
    """
    options = {}
    for question in study.folder.plan.demographics:
        chosen = field(form, question.name)
        places = [str(place) for place in range(len(question.choices))]
        if chosen in places:
            options[question.name] = places.index(chosen)
    return options
