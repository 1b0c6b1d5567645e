"""The numbers of the reporting checklist for human baselines, and the questions that only the author can answer.

The numbers are those of Wei et al. (2025), Human Baselines in Model Evaluations Need Rigor and Transparency, ICML, arXiv
2506.13776. The questions are in our own words.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_NUMBERS: Final = """
0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.10
1.1 1.2 1.2.1 1.3 1.4 1.5 1.6 1.7 1.8 1.8.1 1.9 1.10
2.1 2.1.1 2.2 2.3 2.3.1 2.3.2 2.4 2.5 2.6 2.6.1 2.6.2 2.6.2.1 2.7 2.7.1 2.7.2 2.7.2.1 2.7.3 2.7.3.1
3.1 3.1.1 3.2 3.2.1 3.2.2 3.3 3.3.1 3.3.2 3.4 3.4.1 3.5 3.5.1 3.6
4.1 4.1.1 4.2 4.2.1 4.3 4.4 4.5 4.6
5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2 5.2.1 5.2.2 5.3 5.4
"""

#: Every number of the checklist, in its order.
CHECKLIST_NUMBERS: Final = tuple(_NUMBERS.split())

#: Number -> question to the author, in the order in which `study.yaml` asks them.
AUTHOR_QUESTIONS: Final = MappingProxyType(
    {
        "0.1": "title of the paper",
        "0.2": "link to the paper",
        "0.3": "year of the paper",
        "0.4": "venue of the paper",
        "1.6": "was the setup piloted or validated, and how",
        "1.9": "ethics review: who reviewed the study, or why no review was needed",
        "1.10": "public registry of the frozen plan, if any: link",
        "2.1": "the population of people that the result speaks for",
        "2.1.1": "by what the population was narrowed: expertise, education, language, age",
        "2.2": "how people were sampled: crowd, convenience, random, stratified",
        "2.3": "were people screened before the study",
        "2.3.1": "criteria of the screening",
        "2.3.2": "how many people were turned away",
        "2.4": "did the authors answer themselves",
        "2.5": "were people who had seen the questions kept out",
        "2.6.2": "was the training paid",
        "2.6.2.1": "how much was paid for the training",
        "2.7.2": "was there a bonus",
        "2.7.2.1": "how much was the bonus, and for what",
        "2.7.3.1": "if people were not paid alike: how pay was set",
        "3.1.1": "was the order of the items random for each person",
        "3.3.2": "was the result adjusted for different interfaces of people and models",
        "3.5.1": "how the ban on tools was enforced",
        "5.1.1": "demographics of the people: age, gender, education, country, native language",
        "5.1.4": "AI tools and their versions, if people were allowed to use them",
        "5.2": "is the anonymised data public",
        "5.2.2": "if the data is not public: why",
        "5.3": "are the materials public: instruction, items, interface",
    }
)
