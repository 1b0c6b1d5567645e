"""The sources of the methods that a baseline used, as BibTeX and as keys for citations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from merilo.reports.json_record import count_at, list_at, mapping_at, number_at, text_at, value_at
from merilo.strict_json import Json
from merilo.version import __version__


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a method.

    Attributes:
        key: the key of its BibTeX entry.
        method: what it is the source of, in a phrase.
        kind: the kind of entry: `article`, `book`, ...
        fields: the fields of the entry, already in LaTeX.
    """

    key: str
    method: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    def named(self, language: str) -> str:
        """Return what it is the source of, in a phrase, in `ru` or `en`."""
        return _RUSSIAN.get(self.key, self.method) if language == "ru" else self.method

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in self.fields)
        return f"@{self.kind}{{{self.key},\n{lines}\n}}\n"


#: Key -> what it is the source of, in Russian, nominative.
_RUSSIAN: Final = {
    "krippendorff2011": "альфа Криппендорфа",
    "gwet2008": "AC1 Гвета",
    "wilson1927": "интервал Уилсона",
    "owen2007": "бутстрэп по вопросам и разметчикам",
    "searle1992": "компоненты дисперсии отдельных разметчиков",
    "whitehill2009": "модель GLAD",
    "dawid1979": "модель Дэвида — Скина",
    "zhang2016": "модель с одной точностью на разметчика",
    "mcnemar1947": "точный критерий Мак-Немара",
    "tango1998": "интервал Танго для разности парных долей",
}

_ARTICLE: Final = ("author", "title", "journal", "volume", "pages", "year")


def _article(key: str, method: str, *values: str) -> Source:
    return Source(key, method, "article", tuple(zip(_ARTICLE, values, strict=True)))


_SOURCES: Final[Mapping[str, Source]] = {
    "alpha": Source(
        "krippendorff2011", "Krippendorff's alpha", "techreport",
        (("author", "Krippendorff, Klaus"), ("title", "Computing {Krippendorff's} Alpha-Reliability"),
         ("institution", "University of Pennsylvania"), ("year", "2011")),
    ),
    "ac1": _article("gwet2008", "Gwet's AC1", "Gwet, Kilem Li", "Computing inter-rater reliability and its variance in the presence of high agreement",
                    "British Journal of Mathematical and Statistical Psychology", "61", "29--48", "2008"),
    "wilson": _article("wilson1927", "Wilson's score interval", "Wilson, Edwin B.", "Probable inference, the law of succession, and statistical inference",
                       "Journal of the American Statistical Association", "22", "209--212", "1927"),
    "two_way": _article("owen2007", "the bootstrap over items and annotators", "Owen, Art B.", "The pigeonhole bootstrap",
                        "The Annals of Applied Statistics", "1", "386--411", "2007"),
    "components": Source(
        "searle1992", "the variance components of single annotators", "book",
        (("author", "Searle, Shayle R. and Casella, George and McCulloch, Charles E."), ("title", "Variance Components"),
         ("publisher", "Wiley"), ("year", "1992")),
    ),
    "glad": Source(
        "whitehill2009", "GLAD", "inproceedings",
        (("author", "Whitehill, Jacob and Wu, Ting-fan and Bergsma, Jacob and Movellan, Javier and Ruvolo, Paul"),
         ("title", "Whose Vote Should Count More: Optimal Integration of Labels from Labelers of Unknown Expertise"),
         ("booktitle", "Advances in Neural Information Processing Systems"), ("volume", "22"), ("year", "2009")),
    ),
    "dawid_skene": _article("dawid1979", "the Dawid–Skene model", "Dawid, A. P. and Skene, A. M.", "Maximum Likelihood Estimation of Observer Error-Rates Using the {EM} Algorithm",
                            "Journal of the Royal Statistical Society: Series C", "28", "20--28", "1979"),
    "one_coin": _article("zhang2016", "the one-coin model", "Zhang, Yuchen and Chen, Xi and Zhou, Dengyong and Jordan, Michael I.",
                         "Spectral Methods Meet {EM}: A Provably Optimal Algorithm for Crowdsourcing", "Journal of Machine Learning Research", "17", "1--44", "2016"),
    "mcnemar": _article("mcnemar1947", "McNemar's exact test", "McNemar, Quinn", "Note on the sampling error of the difference between correlated proportions or percentages",
                        "Psychometrika", "12", "153--157", "1947"),
    "tango": _article("tango1998", "Tango's interval of a paired difference", "Tango, Toshiro", "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
                      "Statistics in Medicine", "17", "891--908", "1998"),
    "checklist": Source(
        "wei2025", "the reporting checklist", "inproceedings",
        (("author", "Wei, Kevin L. and others"), ("title", "Human Baselines in Model Evaluations Need Rigor and Transparency"),
         ("booktitle", "International Conference on Machine Learning"), ("year", "2025"), ("eprint", "2506.13776"), ("archiveprefix", "arXiv")),
    ),
}  # fmt: skip


def sources(content: Mapping[str, Json], experts: Mapping[str, Json] | None = None) -> list[Source]:
    """Return the sources of the methods that a baseline used, and of its reporting checklist; the program comes first.

    Args:
        content: the JSON of the baseline.
        experts: the JSON of `merilo experts baseline`.
    """
    used = [_program(content)]
    if number_at(content, "agreement", "krippendorff_alpha") is not None:
        used.append(_SOURCES["alpha"])
    if number_at(content, "agreement", "gwet_ac1") is not None:
        used.append(_SOURCES["ac1"])
    metrics = mapping_at(content, "metrics")
    intervals = " ".join(
        str(text_at(metrics, name, key) or "")
        for name in metrics
        for key in ("interval", "interval_items_and_annotators")
    )
    if "Wilson score" in intervals:
        used.append(_SOURCES["wilson"])
    if "two-way bootstrap" in intervals:
        used.append(_SOURCES["two_way"])
    if any(number_at(metrics, name, "single_person", "mean") is not None for name in metrics):
        used.append(_SOURCES["components"])
    aggregator = text_at(content, "provenance", "parameters", "aggregator")
    for way, name in (("glad", "glad"), ("dawid_skene", "dawid-skene"), ("one_coin", "one-coin")):
        if count_at(content, "resolved_by", way) or aggregator == name:
            used.append(_SOURCES[way])
    compared = [
        value_at(one, "comparisons") for one in list_at(content, "models", "models") if isinstance(one, dict)
    ]
    matches = [
        *mapping_at(experts, "comparison").values(),
        *(
            inner
            for one in compared
            if isinstance(one, dict)
            for match in one.values()
            if isinstance(match, dict)
            for inner in match.values()
        ),
    ]
    if any(isinstance(text, str) and "McNemar" in text for text in matches):
        used += [_SOURCES["mcnemar"], _SOURCES["tango"]]
    return [*used, _SOURCES["checklist"]]


def bibtex(found: list[Source]) -> str:
    """Return the BibTeX file of the sources."""
    return "\n".join(source.bibtex() for source in found)


def _program(content: Mapping[str, Json]) -> Source:
    version = text_at(content, "provenance", "versions", "merilo") or __version__
    kept = "".join(sign for sign in version if sign.isalnum() or sign in ".+-")
    return Source("merilo", "Merilo", "software", (("author", "{The Merilo authors}"), ("title", "Merilo: human baselines for benchmarks"), ("version", kept)))  # fmt: skip
