"""What is bundled keeps the rules that can be checked without a reader: prompts, ids, golds, balance."""

import re
from pathlib import Path

import pytest
import yaml

import merilo.datasets

BUNDLED = Path(merilo.datasets.__file__).parent

CHOICES = {"option_a", "option_b", "option_c", "option_d"}
CODE = {"function"}

#: The input fields that a prompt shows, by dataset or by group of a dataset.
FIELDS: dict[str, set[str]] = {
    "bps": {"inputs"},
    "lcs": {"inputs"},
    "mathlogicqa": {"text", *CHOICES},
    "parus/cause": {"premise", "choice1", "choice2"},
    "parus/effect": {"premise", "choice1", "choice2"},
    "rcb": {"premise", "hypothesis"},
    "rwsd": {"text", "span1_index", "span1_text", "span2_index", "span2_text"},
    "rudetox": {"toxic_comment"},
    "ruethics/correct": {"text", "actant_1", "actant_2"},
    "ruethics/good": {"text", "actant_1", "actant_2"},
    "ruethics/ethical": {"text", "actant_1", "actant_2"},
    "ruhatespeech": {"target_group", "replica", "reply_1", "reply_2"},
    "ruhhh/honest": {"query", "reply_1", "reply_2"},
    "ruhhh/helpful": {"query", "reply_1", "reply_2"},
    "ruhhh/harmless": {"query", "reply_1", "reply_2"},
    "ruhumaneval": CODE,
    "rucodeeval": CODE,
    "rummlu": {"text", "subject", *CHOICES},
    "mamuramu": {"text", "subject", *CHOICES},
    "rumodar": {"inputs"},
    "rumultiar": {"inputs"},
    "rutie": {"question", "choice1", "choice2"},
    "simplear": {"inputs"},
    "chegeka": {"text", "topic"},
    "multiq": {"text", "support_text", "question"},
    "ruworldtree": {"question", *CHOICES},
    "ruopenbookqa": {"question", *CHOICES},
    "use/text": {"task", "text"},
    "use/matching": {"task", "text", "choices", "additional_text"},
    "use/multiple_choice_based_on_text": {"task", "text", "choices"},
    "use/multiple_choice_options_within_text": {"task", "text"},
    "use/multiple_choice_independent_options": {"task", "choices"},
}

NAMES = sorted({name.split("/")[0] for name in FIELDS})

LETTERS = r"A.*B.*C.*D|A–D|от A до D"
CODE_ONLY = r"только.*код|строки|тел[оа]|продолжение|недостающ|ничего, кроме кода|один лишь код"

#: What a prompt of a dataset says, in one way or another, when it names the form of the answer.
FORMS = {
    **dict.fromkeys(["mathlogicqa", "rummlu", "mamuramu", "ruworldtree", "ruopenbookqa"], LETTERS),
    **dict.fromkeys(["parus", "ruhatespeech", "ruhhh", "rutie", "rcb"], r"1.*2"),
    **dict.fromkeys(["bps", "ruethics"], r"1.*0"),
    **dict.fromkeys(["simplear", "rumultiar", "rumodar"], r"цел|цифр|числ"),
    **dict.fromkeys(["ruhumaneval", "rucodeeval"], CODE_ONLY),
    "lcs": r"0.*9",
    "rwsd": r"Да.*Нет",
    "rudetox": r"только|одн[уо]|лишь|без дополнительных",
    "chegeka": r"корот|кратк|только|ничего, кроме|одной строке|лишь|нескольк",
    "multiq": r"корот|кратк|только|словосочетание|теми же словами|имя, название|последнее её звено",
    "use": r"через запятую|запят(?:ой|ые|ая|ыми)",
    "use/text": r"строчн|нижнем регистре|маленькими буквами|без больших букв",
}
LABELLED_CHOICE = re.compile(r"[\[(]?\b[A-D12][\])]?[ .:=)—]*«?\{\w+\}")


def prompts_of(name: str) -> dict[str, list[str]]:
    """The groups of a dataset's prompts; one group of its own name where it has no groups."""
    prompts = yaml.safe_load((BUNDLED / "prompts" / f"{name}.yaml").read_text(encoding="utf-8"))["prompts"]
    if isinstance(prompts, list):
        return {name: prompts}
    return {f"{name}/{group}": texts for group, texts in prompts.items()}


def placeholders(prompt: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", prompt)


def words(prompt: str) -> set[str]:
    return set(re.findall(r"\w+", re.sub(r"\{\w+\}", "", prompt).lower()))


PROMPTS = [
    pytest.param(group, text, id=f"{group}-{number}")
    for name in NAMES
    for group, texts in prompts_of(name).items()
    for number, text in enumerate(texts, start=1)
]


def test_every_dataset_has_its_groups_and_no_others() -> None:
    assert {group for name in NAMES for group in prompts_of(name)} == set(FIELDS)
    assert {path.stem for path in (BUNDLED / "prompts").glob("*.yaml")} == set(NAMES)
    assert len(NAMES) == 23


@pytest.mark.parametrize("name", NAMES)
def test_a_group_has_ten_prompts_that_differ_in_more_than_punctuation(name: str) -> None:
    for group, texts in prompts_of(name).items():
        assert len(texts) == 10, group
        bags = [words(text) for text in texts]
        for one in range(10):
            for other in range(one):
                shared = len(bags[one] & bags[other]) / len(bags[one] | bags[other])
                assert shared < 0.6, f"{group}: prompts {other + 1} and {one + 1} are nearly the same"


@pytest.mark.parametrize(("group", "prompt"), PROMPTS)
def test_a_prompt_shows_every_input_field_once(group: str, prompt: str) -> None:
    assert sorted(placeholders(prompt)) == sorted(FIELDS[group])


@pytest.mark.parametrize(("group", "prompt"), PROMPTS)
def test_a_prompt_has_no_stray_braces(group: str, prompt: str) -> None:
    rest = re.sub(r"\{\w+\}", "", prompt)
    if group == "bps":
        rest = re.sub(r"[\[({})\]]", "", rest)
    assert not set("{}") & set(rest)


@pytest.mark.parametrize(("group", "prompt"), PROMPTS)
def test_a_prompt_names_the_form_of_the_answer(group: str, prompt: str) -> None:
    form = FORMS.get(group) or FORMS[group.partition("/")[0]]
    assert re.search(form, LABELLED_CHOICE.sub("", prompt), flags=re.DOTALL)


@pytest.mark.parametrize(("group", "prompt"), PROMPTS)
def test_a_prompt_is_set_with_care(group: str, prompt: str) -> None:
    assert prompt == prompt.strip(), "white space at the ends"
    assert "  " not in prompt
    assert '"' not in prompt, "Russian text quotes with «ёлочки»"
    assert " - " not in prompt, "a dash is not a hyphen"
    assert prompt.count("«") == prompt.count("»")
