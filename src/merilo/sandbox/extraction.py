"""Cutting a program out of what a model wrote, and saying by which rule.

A model is asked to complete a stub (a signature with its docstring) and answers as it likes: with the body alone, with
the whole function, with a module, inside fences, with prose around. People read all of these without a thought; so
does `extract`. It reads text and never parses it (see `merilo.sandbox.layout`): whether the outcome is a program is for
the jail to find out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from merilo.sandbox.definitions import Definition, end_of_block, needed, read_definitions
from merilo.sandbox.fences import Block, read_fences
from merilo.sandbox.layout import Layout, Statement, read_layout
from merilo.sandbox.response_text import spoken, with_plain_line_ends

#: Where in the answer the code stood.
Place = Literal["bare", "fenced", "unclosed fence", "before a fence", "between prose"]

#: What the code was.
Form = Literal["body", "body, shifted", "function", "module", "nothing"]

#: The form of an answer in which no code was found.
NOTHING: Final = "nothing"

#: What a stub's body holds: its docstring, and what stands for what is missing.
_HOLLOW: Final = re.compile(r"[rRuU]?[\"']|\.\.\.|pass\b|raise NotImplementedError\b")


@dataclass(frozen=True, slots=True)
class Extraction:
    """A program cut out of a completion.

    Attributes:
        source: the whole program, the stub's own imports and functions included.
        place: where in the answer the code stood.
        form: what the code was.
    """

    source: str
    place: Place
    form: Form

    @property
    def rule(self) -> str:
        """The rule that was used, in words: "fenced: function"."""
        return f"{self.place}: {self.form}"


@dataclass(frozen=True, slots=True)
class _Code:
    """Code that was found.

    Attributes:
        place: where.
        whole: whether the model marked both its ends, so that all of it is meant.
        elsewhere: what the answer defines outside of it.
    """

    place: Place
    whole: bool = False
    elsewhere: Sequence[Definition] = ()


@dataclass(frozen=True, slots=True)
class Stub:
    """What a model is asked to complete.

    Attributes:
        prompt: the stub itself, ending with a line end.
        entry_point: the function to be completed.
        preamble: what stands before it: imports and the functions that are given.
        indent: the blanks before the lines of its body.
    """

    prompt: str
    entry_point: str
    preamble: str
    indent: str

    @classmethod
    def read(cls, prompt: str, entry_point: str) -> Stub | None:
        r"""Read a stub; `None` where it does not define the entry point.

        Example:
            >>> Stub.read("import math\n\ndef area(r):\n  ", "area")
            Stub(prompt='import math\n\ndef area(r):\n', entry_point='area', preamble='import math\n\n', indent='    ')
        """
        prompt = with_plain_line_ends(prompt).rstrip() + "\n"
        found = re.search(
            rf"^(?:async[ \t]+)?def[ \t]+{re.escape(entry_point)}[ \t]*[(\[]", prompt, re.MULTILINE
        )
        if found is None:
            return None
        body = [line for line in prompt[found.end() :].splitlines()[1:] if line.strip()]
        blanks = body[-1][: len(body[-1]) - len(body[-1].lstrip(" \t"))] if body else ""
        return cls(prompt, entry_point, prompt[: found.start()], blanks or "    ")


def extract(completion: str, stub: Stub) -> Extraction:
    r"""Cut the program out of a completion.

    The code is looked for in fences first (the last block that defines the entry point, else the first with a body; what
    other blocks define and it uses comes along), then between prose. What defines the entry point is taken as it is, with
    the stub's imports and given functions before it; anything else is the body of the stub's function and gets its
    indentation. Code that may have been cut short (no fence that closes) ends where the function ends, but for the
    definitions below that it uses.

    Args:
        completion: what the model wrote.
        stub: what it was asked to complete.

    Example:
        >>> stub = Stub.read("def double(x):\n", "double")
        >>> extract("Sure!\n```python\ndef double(x):\n    return 2 * x\n```", stub).rule
        'fenced: function'
        >>> extract("return 2 * x", stub).source
        'def double(x):\n    return 2 * x\n'
    """
    text = spoken(completion)
    if _is_plain_body(text, stub):
        return _program(stub.prompt + text.lstrip("\n"), "bare", "body")
    marked = read_fences(text)
    if marked is not None:
        before = read_layout(marked.before)
        begun = before.begins_with_code() and not _is_stub(before, stub)
        if marked.bare and begun:
            return _complete(before, stub, _Code("before a fence"))
        block = _choose(marked.blocks, stub)
        if block is not None and not begun and not _answers(read_layout(block.code), stub):
            # Only an example or what a call prints stands in fences: the answer may stand beside them.
            outside = read_layout(marked.outside)
            if _answers(outside, stub):
                return _complete(outside, stub, _Code("between prose"))
        if block is not None and not (begun and not _defines(block, stub)):
            place: Place = "fenced" if block.closed else "unclosed fence"
            others = [
                other for other in marked.blocks if other is not block and not _is_other_language(other)
            ]
            return _complete(read_layout(block.code), stub, _Code(place, block.closed, _definitions(others)))
        if before.segments:
            return _complete(before, stub, _Code("before a fence"))
    layout = read_layout(text)
    alone = not layout.segments or (layout.begins_with_code() and len(layout.segments) == 1)
    return _complete(layout, stub, _Code("bare" if alone else "between prose"))


def _is_plain_body(text: str, stub: Stub) -> bool:
    """Whether every line is indented as the stub's body is: what a base model writes, told without reading it."""
    first = text.lstrip("\n")
    if not first.startswith(stub.indent) or first[len(stub.indent) : len(stub.indent) + 1].isspace():
        return False
    if "```" in text or "~~~" in text or re.search(r"^\S", text, re.MULTILINE):
        return False
    return re.match(rf"[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(stub.entry_point)}\b", first) is None


def _is_other_language(block: Block) -> bool:
    return bool(block.language) and not block.is_python


def _definitions(blocks: list[Block]) -> list[Definition]:
    """What blocks define that the chosen one may need: a model may write its imports and helpers apart."""
    layouts = [read_layout(block.code) for block in blocks]
    return [
        one for layout in layouts for segment in layout.segments for one in read_definitions(layout, segment)
    ]


def _choose(blocks: list[Block], stub: Stub) -> Block | None:
    """The last block that defines the entry point; else one with a body: of Python, of no language, of any."""
    read = [(block, read_layout(block.code).segments) for block in blocks]
    if defining := _solid([part for _, segments in read for part in segments], stub.entry_point):
        return next(block for block, segments in read if any(part is defining[-1] for part in segments))

    def rank(block: Block) -> tuple[bool, int]:
        segments = read_layout(block.code).segments
        return not any(map(_returns, segments)), 0 if block.is_python else 1 if not block.language else 2

    return min((block for block in blocks if block.code.strip()), key=rank, default=None)


def _defines(block: Block, stub: Stub) -> bool:
    return any(
        _definition(segment, stub.entry_point) is not None for segment in read_layout(block.code).segments
    )


def _answers(layout: Layout, stub: Stub) -> bool:
    """Whether code can be told to be an answer: it defines the entry point to more than a stub, or it returns."""
    for segment in layout.segments:
        number = _definition(segment, stub.entry_point)
        if _returns(segment) or (number is not None and not _is_hollow(segment, number)):
            return True
    return False


def _is_stub(layout: Layout, stub: Stub) -> bool:
    """Whether code is what was asked and nothing else."""
    return bool(_solid(layout.segments, stub.entry_point)) and not _answers(layout, stub)


def _definition(segment: list[Statement], name: str) -> int | None:
    """Which statement of the outermost level binds this name, to more than a stub where there is a choice."""
    found = [
        number
        for number, statement in enumerate(segment)
        if statement.indent == segment[0].indent and statement.bound == name
    ]
    return next((number for number in found if not _is_hollow(segment, number)), found[0] if found else None)


def _is_hollow(segment: list[Statement], number: int) -> bool:
    """Whether a definition is the stub again: a docstring, an ellipsis, nothing."""
    body = segment[number + 1 : end_of_block(segment, number)]
    return segment[number].opens_block and all(_HOLLOW.match(statement.text) for statement in body)


def _solid(segments: Sequence[list[Statement]], name: str) -> list[list[Statement]]:
    """Those that define the name to more than a stub; where none does, those that define it at all."""
    defining = [(part, number) for part in segments if (number := _definition(part, name)) is not None]
    return [part for part, number in defining if not _is_hollow(part, number)] or [
        part for part, _ in defining
    ]


def _complete(layout: Layout, stub: Stub, code: _Code) -> Extraction:
    """Make a program of the code that was found, perhaps with prose around."""
    if not layout.segments:
        return _program(stub.prompt, code.place, NOTHING)
    defining = _solid(layout.segments, stub.entry_point)
    if defining:
        first = layout.begins_with_code() and defining[0] is layout.segments[0]
        segment = defining[0] if first or code.whole else defining[-1]
        return _function(layout, segment, stub, code)
    segment = layout.segments[0]
    if not segment[0].indent and _lost_indent(segment) is None and not _is_body(segment):
        text = layout.cut(0, len(layout.lines)) if code.whole else _text(layout, segment)
        return _with_preamble(text, stub, code.place, "module")
    return _body(layout, segment, stub, code)


def _function(layout: Layout, segment: list[Statement], stub: Stub, code: _Code) -> Extraction:
    """The entry point is defined: take its definition, and all that it needs."""
    base = segment[0].indent
    if code.whole and len(layout.segments) == 1:
        kept, below = segment, []
        source = layout.cut(segment[0].first, segment[-1].last, base)
    else:
        end = end_of_block(segment, _definition(segment, stub.entry_point) or 0)
        kept, below = segment[:end], _below(layout, segment, end)
        source = "".join(layout.cut(statement.first, statement.last, base) for statement in kept)
    bound = {statement.bound for statement in kept if statement.indent == base} - {None}
    below_text = needed(source, below, [stub.entry_point])
    others = [*_above(layout, segment), *code.elsewhere]
    above = needed(source + below_text, others, [stub.entry_point, *filter(None, bound)])
    alone = sum(statement.indent == base for statement in kept) == 1 and not below_text and not above
    return _with_preamble(above + source + below_text, stub, code.place, "function" if alone else "module")


def _above(layout: Layout, segment: list[Statement]) -> list[Definition]:
    """What is defined in the segments of a text that stand above one of them."""
    return [
        one
        for other in layout.segments[: layout.segments.index(segment)]
        for one in read_definitions(layout, other)
    ]


def _below(layout: Layout, segment: list[Statement], end: int) -> list[Definition]:
    """What is defined in a text below some statements of one of its segments."""
    found = read_definitions(layout, segment[end:])
    for other in layout.segments[layout.segments.index(segment) + 1 :]:
        found += read_definitions(layout, other)
    return found


def _is_body(segment: list[Statement]) -> bool:
    """Whether code of the outermost level is a function's body: it returns, or it defines nothing."""
    return _returns(segment) or not any(statement.defines for statement in segment)


def _returns(segment: list[Statement]) -> bool:
    """Whether a `return` or `yield` stands outside of every definition."""
    enclosing: list[Statement] = []
    for statement in segment:
        while enclosing and len(enclosing[-1].indent) >= len(statement.indent):
            enclosing.pop()
        if re.match(r"(?:return|yield)\b", statement.text) and not any(outer.defines for outer in enclosing):
            return True
        enclosing.append(statement)
    return False


def _body(layout: Layout, segment: list[Statement], stub: Stub, code: _Code) -> Extraction:
    """The body alone: give it the indentation of the stub's."""
    first = segment[0]
    lost = _lost_indent(segment)
    base = first.indent if lost is None else lost
    end = _end_of_body(segment, base) if base else len(segment)
    if lost is None:
        text = layout.cut(first.first, segment[end - 1].last, base, stub.indent)
    else:
        head = layout.cut(first.first, first.last, lost, stub.indent).lstrip(" \t")
        text = stub.indent + head + layout.cut(first.last, segment[end - 1].last, lost, stub.indent)
    below = needed(text, read_definitions(layout, segment[end:]), [stub.entry_point])
    above = needed(text + below, code.elsewhere, [stub.entry_point])
    form: Form = "body" if first.indent == stub.indent else "body, shifted"
    return _program(above + stub.prompt + text + below, code.place, form)


def _end_of_body(segment: list[Statement], indent: str) -> int:
    """The index of the first statement that stands further left than the body."""
    for number, statement in enumerate(segment[1:], 1):
        if len(statement.indent) < len(indent):
            return number
    return len(segment)


def _lost_indent(segment: list[Statement]) -> str | None:
    """The body's indentation where its first line alone has lost it, as happens when an answer is stripped."""
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


def _text(layout: Layout, segment: list[Statement]) -> str:
    return layout.cut(segment[0].first, segment[-1].last, segment[0].indent)


def _with_preamble(source: str, stub: Stub, place: Place, form: Form) -> Extraction:
    """Put the stub's imports and given functions first, but for what must come before everything."""
    future = re.findall(r"^from __future__ import .*$", source, re.MULTILINE)
    if future:
        source = re.sub(r"^from __future__ import .*$", "", source, flags=re.MULTILINE)
    head = "".join(f"{line}\n" for line in future)
    return _program(head + stub.preamble + source, place, form)


def _program(source: str, place: Place, form: Form) -> Extraction:
    """The extraction, with one line end at its end: answers that differ in nothing else are one program."""
    return Extraction(source.rstrip() + "\n", place, form)
