"""Every sentence has a translation, and every translation fits its sentence."""

import importlib.util
import re
from pathlib import Path
from string import Formatter
from types import ModuleType

from every import every

from merilo.text import Money, Text, both_languages, formatted

SCRIPT = Path(__file__).parent.parent / "scripts" / "catalogue.py"


def catalogue() -> ModuleType:
    spec = importlib.util.spec_from_file_location("catalogue", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SENTENCES = set(catalogue().sentences())
RUSSIAN = catalogue().translations(catalogue().ROOT / "locale" / "ru.po")


def placeholders(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for _, name, spec, _ in Formatter().parse(text):
        if name is not None:
            found.setdefault(name, []).append(spec or "")
            found |= placeholders(spec or "")
    return found


def test_every_sentence_has_a_translation_and_every_translation_a_sentence() -> None:
    assert {key for key in SENTENCES if not RUSSIAN.get(key)} == set(), (
        "run scripts/catalogue.py and translate"
    )
    assert set(RUSSIAN) - SENTENCES == set(), "run scripts/catalogue.py"


@every("key", sorted(SENTENCES, key=str))
def test_a_translation_fits_its_sentence(key: tuple[str, str | None]) -> None:
    english, russian = key[0], RUSSIAN[key]
    if english.startswith("plural of "):
        assert russian.count("|") == 2
        return
    assert not re.search("[А-Яа-яЁё]", english)
    assert set(placeholders(russian)) <= set(placeholders(english))
    for language, text, forms in (("en", english, 2), ("ru", russian, 3)):
        for name, specs in placeholders(text).items():
            for spec in specs:
                if "|" in spec and "=" not in spec:
                    assert len(spec.split("|")) == forms, f"{name} has not {forms} plural forms in {language}"
    assert (english[-1:] in ".?!:") == (russian[-1:] in ".?!:"), "a full stop in one language only"


def test_nouns_agree_and_numbers_are_written_as_the_language_writes_them() -> None:
    text = Text(
        "{shown} and {more} more", shown=[Text("{shown} and {more} more", shown="a", more=0.5)], more=2
    )
    assert (text.en, text.ru) == ("a and 0.5 more and 2 more", "a и ещё 0,5 и ещё 2")
    paid = Text("{shown} and {more} more", shown=Money(1.5, "USD"), more=Money(860000, "RUB"))
    assert paid.en == "$1.50 and 860,000 RUB more"
    assert paid.ru.replace("\u00a0", " ") == "1,50 доллара США и ещё 860 000 рублей"
    assert formatted("2026-11-22", "date", "ru").replace("\u00a0", " ") == "22 ноября 2026 г."


def test_values_of_a_page_are_escaped() -> None:
    made = both_languages("{shown} and {more} more", shown="<script>", more=1)
    assert made == (
        '<span lang="en">&lt;script&gt; and 1 more</span><span lang="ru">&lt;script&gt; и ещё 1</span>'
    )
