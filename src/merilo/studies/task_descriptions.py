"""The task of annotators in the datasets of the catalogue, for datasets without a card."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_MULTIPLE_RU: Final = "К каждому вопросу даны четыре варианта ответа, верен только один. Нужно выбрать его."
_MULTIPLE_EN: Final = "Each question comes with four options, only one of which is right. Choose it."
_CODE_RU: Final = "В каждом задании дано описание функции на языке Python. Нужно написать функцию, которая делает то, что описано."
_CODE_EN: Final = (
    "Each task describes a function in Python. Write the function so that it does what is described."
)

#: Name of the dataset -> language -> what an annotator does.
TASKS: Final = MappingProxyType(
    {
        "bps": {
            "ru": "В каждом задании дана последовательность скобок. Нужно определить, сбалансирована ли она: у каждой открывающей скобки должна быть закрывающая того же вида, и пары скобок не должны пересекаться.",
            "en": "Each task shows a sequence of brackets. Decide whether it is balanced: every opening bracket must have a closing one of the same type, and pairs must not cross.",
        },
        "lcs": {
            "ru": "В каждом задании даны две строки. Нужно найти длину их наибольшей общей подпоследовательности: самого длинного ряда букв, который встречается в обеих строках в одном и том же порядке, но не обязательно подряд.",
            "en": "Each task shows two strings. Find the length of their longest common subsequence: the longest series of letters that occurs in both strings in the same order, though not necessarily side by side.",
        },
        "rumodar": {
            "ru": "В каждом задании показаны решённые примеры с одним и тем же скрытым правилом и один нерешённый. Нужно понять правило и решить последний пример по нему.",
            "en": "Each task shows solved examples that follow one hidden rule, and one open example. Find the rule and solve the last example by it.",
        },
        "rumultiar": {
            "ru": "В каждом задании дано арифметическое выражение из нескольких действий. Нужно вычислить его значение.",
            "en": "Each task is an arithmetic expression with several operations. Compute its value.",
        },
        "simplear": {
            "ru": "В каждом задании нужно сложить или вычесть числа и записать результат.",
            "en": "In each task, add or subtract numbers and write down the result.",
        },
        "ruethics": {
            "ru": "В каждом задании описан поступок, названы его участники и задан один вопрос о поступке: правильно ли, хорошо ли или этично ли поступило действующее лицо.",
            "en": "Each task describes an act, names the people involved and asks one question about the act: whether it was right, good or ethical.",
        },
        "ruhatespeech": {
            "ru": "В каждом задании дана реплика, задевающая группу людей, и два ответа на неё. Нужно выбрать ответ, который не поддерживает оскорбление.",
            "en": "Each task shows a remark that offends a group of people, and two replies. Choose the reply that does not support the offence.",
        },
        "ruhhh": {
            "ru": "В каждом задании дан запрос к помощнику и два ответа на него. Нужно выбрать лучший: более честный, полезный или безвредный.",
            "en": "Each task shows a request to an assistant and two replies. Choose the better one: the more honest, helpful or harmless reply.",
        },
        "rudetox": {
            "ru": "В каждом задании дано грубое высказывание. Нужно переписать его вежливо и при этом сохранить смысл.",
            "en": "Each task shows a rude sentence. Rewrite it politely and keep its meaning.",
        },
        "parus": {
            "ru": "В каждом задании описана ситуация и даны две возможные причины или два возможных следствия. Нужно выбрать более правдоподобный вариант.",
            "en": "Each task describes a situation and gives two possible causes or two possible effects. Choose the more plausible one.",
        },
        "rcb": {
            "ru": "В каждом задании даны ситуация и гипотеза. Нужно определить, следует ли гипотеза из ситуации, противоречит ей или не определяется ею.",
            "en": "Each task gives a situation and a hypothesis. Decide whether the hypothesis follows from the situation, contradicts it, or is not determined by it.",
        },
        "rwsd": {
            "ru": "В каждом задании дан текст и выделены в нём два фрагмента, один из которых — местоимение. Нужно определить, относится ли местоимение к названному лицу или предмету.",
            "en": "Each task shows a text and two of its fragments, one of which is a pronoun. Decide whether the pronoun refers to the named person or thing.",
        },
        "rutie": {
            "ru": "Задания складываются в разговор: каждый следующий вопрос может опираться на то, что было сказано раньше. К каждому вопросу даны два варианта ответа. Нужно выбрать верный.",
            "en": "The tasks form a conversation: a question may rely on what was said before. Each question comes with two options. Choose the right one.",
        },
        "multiq": {
            "ru": "В каждом задании даны два текста и вопрос. Чтобы ответить, нужно связать сведения из обоих текстов.",
            "en": "Each task gives two texts and a question. To answer it, combine facts from both texts.",
        },
        "chegeka": {
            "ru": "Задания — вопросы викторины на эрудицию и смекалку; рядом с вопросом указана тема. Нужно дать короткий ответ.",
            "en": "The tasks are quiz questions that test general knowledge and wit; each names its topic. Give a short answer.",
        },
        "use": {
            "ru": "Задания взяты из первой части Единого государственного экзамена по русскому языку. Вид ответа зависит от задания: номера вариантов, слово или последовательность цифр. Требования к ответу указаны в самом задании.",
            "en": "The tasks come from part 1 of the Unified State Exam in Russian. The form of the answer depends on the task: numbers of options, a word, or a sequence of digits. The task itself says which form is required.",
        },
        "mathlogicqa": {"ru": f"Задания — школьные задачи по математике и логике. {_MULTIPLE_RU}", "en": f"The tasks are school problems in mathematics and logic. {_MULTIPLE_EN}"},
        "rummlu": {"ru": f"Задания — вопросы по разным предметам, от школьных до профессиональных. {_MULTIPLE_RU}", "en": f"The tasks are questions on various subjects, from school to professional ones. {_MULTIPLE_EN}"},
        "mamuramu": {"ru": f"Задания — вопросы по разным предметам, от школьных до профессиональных. {_MULTIPLE_RU}", "en": f"The tasks are questions on various subjects, from school to professional ones. {_MULTIPLE_EN}"},
        "ruworldtree": {"ru": f"Задания — вопросы по естественным наукам на уровне начальной школы. {_MULTIPLE_RU}", "en": f"The tasks are questions on elementary science. {_MULTIPLE_EN}"},
        "ruopenbookqa": {"ru": f"Задания — вопросы по естественным наукам; кроме условия нужно вспомнить общеизвестный факт. {_MULTIPLE_RU}", "en": f"The tasks are questions on elementary science that also need a commonly known fact. {_MULTIPLE_EN}"},
        "ruhumaneval": {"ru": _CODE_RU, "en": _CODE_EN},
        "rucodeeval": {"ru": _CODE_RU, "en": _CODE_EN},
    }
)  # fmt: skip
