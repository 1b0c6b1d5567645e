"""Extraction of a program from a completion, with the name of the rule that was used.

A model is asked to complete a stub (a signature with its docstring). Its answer may be the body alone, the whole
function or a module, with or without fences and prose. `extract` accepts all of these forms. It never parses
the text as Python (see `merilo.sandbox.layout`): the jail finds out whether the result is a valid program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal

from merilo.metrics.answers import FINAL_CHANNEL, THOUGHT_MARKS
from merilo.sandbox.layout import (
    KEYWORDS,
    Definition,
    Layout,
    Statement,
    end_of_block,
    needed,
    read_definitions,
    read_layout,
)

#: End-of-text tokens of models, which some clients leave in the completion.
_END_MARK: Final = re.compile(
    r"<\|(?:endoftext|im_end|eot_id|eom_id|end|return|file_sep|fim_\w+|end_of_text)\|>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>"
)
#: End-of-text tokens removed only at the end, because programs may contain them elsewhere.
_LAST_MARKS: Final = ("</s>", "<eos>", "<pad>", "<EOT>")
#: "Answer: return x": a label on the line where the code begins.
_LABELLED: Final = re.compile(r"\s*(?P<word>[^\W\d]\w*):[ \t]*(?=(?:async|def|from|import|return)\b)")
#: An answer that is a single span of inline code.
_QUOTED: Final = re.compile(r"\s*(?P<mark>``?)(?!`)(?P<code>[^`]+)(?P=mark)\s*")


def without_reasoning(completion: str) -> str:
    r"""Return the completion without the model's reasoning, its end mark, and a label before the code.

    Example:
        >>> without_reasoning("<think>Double it?</think>Answer: return 2 * x<|im_end|>")
        'return 2 * x'
    """
    text = with_plain_line_ends(completion)
    for opening, closing in THOUGHT_MARKS:
        text = _without_thoughts(text, opening, closing)
    text = _without_last_marks(_END_MARK.split(text.rpartition(FINAL_CHANNEL)[2], maxsplit=1)[0])
    if quoted := _QUOTED.fullmatch(text):
        return quoted["code"]
    label = _LABELLED.match(text)
    return text[label.end() :] if label and label["word"] not in KEYWORDS else text


def _without_last_marks(text: str) -> str:
    end = bare = len(text)
    while bare:
        while bare and text[bare - 1].isspace():
            bare -= 1
        if not text.endswith(_LAST_MARKS, 0, bare):
            break
        end = bare = text.rindex("<", 0, bare)
    return text[:end]


def _without_thoughts(text: str, opening: str, closing: str) -> str:
    """Return the text after the last reasoning block; if there is none, the text outside all reasoning blocks."""
    before, mark, after = text.rpartition(closing)
    if not mark or opening not in before or read_layout(after).segments:
        return after
    outside, position = [], 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        outside.append(text[position:start])
        position = end + len(closing)
    return "".join(outside) + text[position:].rpartition(closing)[2]


def with_plain_line_ends(text: str) -> str:
    """Return the text with newlines as its only line ends, and without a byte-order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


PYTHON: Final = frozenset({"python", "py", "python3", "py3"})

_FENCE: Final = re.compile(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
#: A fence opened at the end of a line of prose: "Here it is: ```python".
_TRAILING: Final = re.compile(r"(?<![`~])(?P<mark>```|~~~)[ \t]*(?P<info>[A-Za-z]+[0-9]?)$")
_ONE_LINE: Final = re.compile(r"[ \t]*(`{3,})(?:(?:python|py)[ \t]+)?([^`\n]+)\1[ \t]*$")
#: Other marks of code, by the fence that each stands for.
_TAGS: Final = (
    (re.compile(r"^[ \t]*\[(?:PYTHON|CODE)\]", re.MULTILINE), "```python\n"),
    (re.compile(r"\[/(?:PYTHON|CODE)\]"), "\n```\n"),
)
_TRIPLE: Final = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code.

    Attributes:
        code: the text between the fences.
        language: the first word after the opening fence, in lower case; empty if there is none.
        closed: whether the closing fence is present.
    """

    code: str
    language: str = ""
    closed: bool = True

    @property
    def rank(self) -> int:
        """The place of its language among those of blocks that may hold the answer."""
        return 0 if self.language in PYTHON else 2 if self.language else 1


def read_fences(text: str) -> tuple[str, str, list[Block]]:
    r"""Split a text at its fences: the text before the first one, the text outside of all, and the blocks.

    A fence inside a docstring is content, unless the docstring is never closed.

    Example:
        >>> read_fences("So:\n~~~py\nreturn 1\n~~~\nDone.")
        ('So:\n', 'So:\nDone.\n', [Block(code='return 1\n', language='py', closed=True)])
    """
    for tag, mark in _TAGS:
        text = tag.sub(mark, text)
    if "```" not in text and "~~~" not in text:
        return "", text, []
    lines = [part for line in text.split("\n") for part in _apart(line)]
    strings_matter = not reduce(_string_after, lines, "")
    before: str | None = None
    outside: list[str] = []
    content: list[str] = []
    blocks: list[Block] = []
    opened: re.Match[str] | None = None
    string = ""
    for line in lines:
        fence = None if string else _FENCE.match(line)
        if opened is None and not string:
            fence = fence or _TRAILING.search(line.rstrip()[-20:])
        if fence and opened is None:
            before = "".join(outside) if before is None else before
            opened, content = fence, []
        elif fence and opened is not None and _closes(fence, opened):
            blocks.append(_block(opened, content, closed=True))
            opened = None
        else:
            (outside if opened is None else content).append(f"{line}\n")
            string = _string_after(string, line) if strings_matter else ""
    if opened is not None and any(map(str.strip, content)):
        blocks.append(_block(opened, content, closed=False))
    return ("", text, []) if before is None else (before, "".join(outside), blocks)


def _apart(line: str) -> tuple[str, ...]:
    """Split a line that holds a whole block, or that ends with a closing fence behind code."""
    if block := _ONE_LINE.match(line):
        return "```", block[2].strip(), "```"
    code = line.rstrip()
    if code.endswith("```") and code.count("```") == 1 and code.strip(" \t>`#"):
        return code[:-3], "```"
    return (line,)


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    mark = opened["mark"]
    return fence["mark"][0] == mark[0] and len(fence["mark"]) >= len(mark) and not fence["info"].strip()


def _block(opened: re.Match[str], content: list[str], *, closed: bool) -> Block:
    indent = opened.groupdict().get("indent") or ""
    words = opened["info"].strip().strip("{}.").lower().split()
    code = "".join(line.removeprefix(indent) for line in content)
    return Block(code, words[0].rstrip(":,") if words else "", closed)


def _string_after(string: str, line: str) -> str:
    """Return the triple quote that is open after this line, given the one open before it; empty if none is open."""
    for quote in _TRIPLE.findall(line):
        if not string:
            string = quote
        elif quote == string:
            string = ""
    return string


#: Where in the answer the code was found.
Place = Literal["bare", "fenced", "unclosed fence", "before a fence", "between prose"]

#: The form of the code.
Form = Literal["body", "body, shifted", "function", "module", "nothing"]

#: The form of an answer in which no code was found.
NOTHING: Final = "nothing"

_FUTURE: Final = re.compile(r"^from __future__ import .*$", re.MULTILINE)

#: The end of a stub within a statement, which a completion continues on the same line.
_UNFINISHED: Final = re.compile(
    r"(?:[-=(\[{,+*/%&|^<>~]|\b(?:return|in|not|and|or|is|if|else|yield|await))\Z"
)

#: Statements of a stub's body: its docstring, and placeholders for the missing code.
_HOLLOW: Final = re.compile(r"[rRuU]?[\"']|\.\.\.|pass\b|raise NotImplementedError\b")


@dataclass(frozen=True, slots=True)
class Extraction:
    """A program extracted from a completion.

    Attributes:
        source: the whole program, the stub's own imports and functions included.
        place: where in the answer the code was found.
        form: the form of the code.
    """

    source: str
    place: Place
    form: Form

    @property
    def rule(self) -> str:
        """The rule that was used, such as "fenced: function"."""
        return f"{self.place}: {self.form}"


@dataclass(frozen=True, slots=True)
class _Code:
    """How code was found in an answer.

    Attributes:
        place: where in the answer the code was found.
        whole: whether the model marked both ends of the code, so that all of it belongs to the answer.
        elsewhere: the definitions in the answer outside the code.
    """

    place: Place
    whole: bool = False
    elsewhere: Sequence[Definition] = ()


@dataclass(frozen=True, slots=True)
class Stub:
    """The stub that a model is asked to complete.

    Attributes:
        prompt: the stub itself. It ends with a line end, unless it ends within a statement ("    return").
        entry_point: the function that the tests call.
        preamble: the imports and given functions before the function to be completed, the last one of the stub.
        indent: the indentation of the next statement.
    """

    prompt: str
    entry_point: str
    preamble: str
    indent: str

    @classmethod
    def read(cls, prompt: str, entry_point: str) -> Stub | None:
        r"""Read a stub; return `None` if it does not define the entry point.

        Example:
            >>> Stub.read("import math\n\ndef area(r):\n  ", "area")
            Stub(prompt='import math\n\ndef area(r):\n', entry_point='area', preamble='import math\n\n', indent='    ')
        """
        text = with_plain_line_ends(prompt)
        layout = read_layout(text)
        statements = [statement for segment in layout.segments for statement in segment]
        outer = [n for n, statement in enumerate(statements) if statement.defines and not statement.indent]
        if entry_point not in {statements[number].bound for number in outer}:
            return None
        begin = outer[-1]
        while begin and statements[begin - 1].text.startswith("@"):
            begin -= 1
        last_line = text.rstrip(" \t").rpartition("\n")[2]
        if "#" in last_line or not _UNFINISHED.search(last_line[-20:]):
            text = text.rstrip() + "\n"
        preamble, last = layout.cut(0, statements[begin].first), statements[-1]
        return cls(
            text, entry_point, preamble, f"{last.indent}    " if last.opens_block else last.indent or "    "
        )


def extract(completion: str, stub: Stub) -> Extraction:
    r"""Extract the program from a completion.

    The function first looks for code in fences: the last block that defines the entry point, or else the
    first block with a body, with the definitions of other blocks that it uses. Then it looks for code between
    prose. Code that defines the entry point is taken unchanged, after the stub's imports and given functions.
    Any other code counts as the body of the stub's function and is indented to match it. Code without a
    closing fence may be truncated: it ends where the function ends, except for later definitions that it uses.

    Args:
        completion: the model's text.
        stub: the stub that it was asked to complete.

    Example:
        >>> stub = Stub.read("def double(x):\n", "double")
        >>> extract("Sure!\n```python\ndef double(x):\n    return 2 * x\n```", stub).rule
        'fenced: function'
        >>> extract("return 2 * x", stub).source
        'def double(x):\n    return 2 * x\n'
    """
    text = without_reasoning(completion)
    if _is_plain_body(text, stub):
        text = text.lstrip("\n") if stub.prompt.endswith("\n") else text
        return _program(stub.prompt + text, "bare", "body")
    before, outside, blocks = read_fences(text)
    layouts = [(block, read_layout(block.code)) for block in blocks]
    head, rest = read_layout(before), read_layout(outside)

    def fenced(block: Block, layout: Layout) -> Extraction:
        # A model may write imports and helper functions in separate blocks.
        others = [other for each, other in layouts if each is not block and each.rank < 2]
        elsewhere = [definition for other in others for definition in _definitions(other, other.segments)]
        place: Place = "fenced" if block.closed else "unclosed fence"
        return _complete(layout, stub, _Code(place, block.closed, elsewhere))

    begun = head.begins_with_code() and _answers(head, stub)
    ranked = sorted(layouts, key=lambda each: each[0].rank)
    chosen = [each for each in reversed(layouts) if _defines(each[1], stub)]
    if not chosen and not begun:
        chosen = [each for each in ranked if _answers(each[1], stub)]
    if not chosen and (begun or (head.segments and not blocks)):
        return _complete(head, stub, _Code("before a fence"))
    if not chosen and not _answers(rest, stub):
        # The fences hold an example or printed output, unless there is no answer outside of them.
        chosen = [each for each in ranked if each[0].code.strip()] or ranked
    if chosen:
        return fenced(*chosen[0])
    alone = not blocks and rest.begins_with_code() and len(rest.segments) == 1
    return _complete(rest, stub, _Code("bare" if alone or not rest.segments else "between prose"))


def _is_plain_body(text: str, stub: Stub) -> bool:
    """Return whether the text is indented as the stub's body, as a base model's continuation is."""
    first = text.lstrip("\n")
    continued = not stub.prompt.endswith("\n")
    indented = first.startswith(stub.indent) and not first[len(stub.indent) : len(stub.indent) + 1].isspace()
    if not (indented or continued):
        return False
    if "```" in text or "~~~" in text or re.search(r"^\S", text[continued:], re.MULTILINE):
        return False
    return re.match(rf"[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(stub.entry_point)}\b", first) is None


def _definitions(layout: Layout, segments: Iterable[list[Statement]]) -> list[Definition]:
    """Return the definitions in segments of a text."""
    return [definition for segment in segments for definition in read_definitions(layout, segment)]


def _defines(layout: Layout, stub: Stub) -> bool:
    """Return whether code defines the entry point with more than a stub's body."""
    numbers = [(segment, _definition(segment, stub.entry_point)) for segment in layout.segments]
    return any(number is not None and not _is_hollow(segment, number) for segment, number in numbers)


def _answers(layout: Layout, stub: Stub) -> bool:
    """Return whether code is an answer: it defines the entry point with more than a stub's body, or it returns."""
    return _defines(layout, stub) or any(map(_returns, layout.segments))


def _definition(segment: list[Statement], name: str) -> int | None:
    """Return the index of the top-level statement that binds a name, preferring one with more than a stub's body."""
    binding = [
        number
        for number, statement in enumerate(segment)
        if statement.indent == segment[0].indent and statement.bound == name
    ]
    return next(
        (number for number in binding if not _is_hollow(segment, number)), binding[0] if binding else None
    )


def _is_hollow(segment: list[Statement], number: int) -> bool:
    """Return whether a definition only repeats the stub: its body is empty, a docstring or a placeholder."""
    body = segment[number + 1 : end_of_block(segment, number)]
    return segment[number].opens_block and all(_HOLLOW.match(statement.text) for statement in body)


def _solid(segments: Sequence[list[Statement]], name: str) -> list[list[Statement]]:
    """Return the segments that define the name with more than a stub's body, or else all that define it."""
    defining = [(part, number) for part in segments if (number := _definition(part, name)) is not None]
    return [part for part, number in defining if not _is_hollow(part, number)] or [
        part for part, _ in defining
    ]


def _complete(layout: Layout, stub: Stub, code: _Code) -> Extraction:
    """Build the program from the code that was found, which prose may surround."""
    if not layout.segments:
        return _program(stub.prompt, code.place, NOTHING)
    defining = _solid(layout.segments, stub.entry_point)
    if defining:
        first = layout.begins_with_code() and defining[0] is layout.segments[0]
        segment = defining[0] if first or code.whole else defining[-1]
        return _function(layout, segment, stub, code)
    segment = layout.segments[0]
    if not segment[0].indent and _lost_indent(segment) is None and not _is_body(segment):
        begin, end = (0, len(layout.lines)) if code.whole else (segment[0].first, segment[-1].last)
        text = layout.cut(begin, end, "" if code.whole else segment[0].indent)
        return _with_preamble(text, stub, code.place, "module")
    return _body(layout, segment, stub, code)


def _function(layout: Layout, segment: list[Statement], stub: Stub, code: _Code) -> Extraction:
    """Build the program from a definition of the entry point and the definitions that it needs."""
    base = segment[0].indent
    if code.whole and len(layout.segments) == 1:
        chosen, below = segment, []
        source = layout.cut(segment[0].first, segment[-1].last, base)
    else:
        end = end_of_block(segment, _definition(segment, stub.entry_point) or 0)
        later = layout.segments[layout.segments.index(segment) + 1 :]
        chosen, below = segment[:end], _definitions(layout, [segment[end:], *later])
        source = "".join(layout.cut(statement.first, statement.last, base) for statement in chosen)
    bound = {statement.bound for statement in chosen if statement.indent == base} - {None}
    below_text = needed(source, below, [stub.entry_point])
    earlier = layout.segments[: layout.segments.index(segment)]
    others = [*_definitions(layout, earlier), *code.elsewhere]
    above = needed(source + below_text, others, [stub.entry_point, *filter(None, bound)])
    alone = sum(statement.indent == base for statement in chosen) == 1 and not below_text and not above
    return _with_preamble(above + source + below_text, stub, code.place, "function" if alone else "module")


def _is_body(segment: list[Statement]) -> bool:
    """Return whether unindented code is a function's body: it returns, or it defines nothing."""
    return _returns(segment) or not any(statement.defines for statement in segment)


def _returns(segment: list[Statement]) -> bool:
    """Return whether there is a `return` or `yield` outside of every definition."""
    enclosing: list[Statement] = []
    for statement in segment:
        while enclosing and len(enclosing[-1].indent) >= len(statement.indent):
            enclosing.pop()
        if re.match(r"(?:return|yield)\b", statement.text) and not any(outer.defines for outer in enclosing):
            return True
        enclosing.append(statement)
    return False


def _body(layout: Layout, segment: list[Statement], stub: Stub, code: _Code) -> Extraction:
    """Build the program from a body alone, indented to match the stub."""
    first = segment[0]
    lost = _lost_indent(segment)
    base = first.indent if lost is None else lost
    lower = (number for number, statement in enumerate(segment) if len(statement.indent) < len(base))
    end = next((number for number in lower if number), len(segment))
    if lost is None:
        text = layout.cut(first.first, segment[end - 1].last, base, stub.indent)
    else:
        head = layout.cut(first.first, first.last, lost, stub.indent).lstrip(" \t")
        text = stub.indent + head + layout.cut(first.last, segment[end - 1].last, lost, stub.indent)
    below = needed(text, read_definitions(layout, segment[end:]), [stub.entry_point])
    above = needed(text + below, code.elsewhere, [stub.entry_point])
    form: Form = "body" if first.indent == stub.indent else "body, shifted"
    return _program(above + stub.prompt + text + below, code.place, form)


def _lost_indent(segment: list[Statement]) -> str | None:
    """Return the body's indentation if only its first line has lost it, as happens when an answer is stripped."""
    first = segment[0]
    run = []
    for statement in segment[1:]:
        if len(statement.indent) <= len(first.indent):
            break
        run.append(statement.indent)
    if not run:
        return None
    base = min(run, key=len)
    if not first.opens_block or len(base) < len(run[0]):
        return base
    return None


def _with_preamble(source: str, stub: Stub, place: Place, form: Form) -> Extraction:
    """Put the stub's imports and given functions before the source, but after its `__future__` imports."""
    future = _FUTURE.findall(source)
    head = "".join(f"{line}\n" for line in future)
    return _program(head + stub.preamble + (_FUTURE.sub("", source) if future else source), place, form)


def _program(source: str, place: Place, form: Form) -> Extraction:
    """Return the extraction with exactly one final newline, so that programs that differ only there are equal."""
    return Extraction(source.rstrip() + "\n", place, form)
