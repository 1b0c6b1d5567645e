#!/usr/bin/env python3
"""Update the catalogues of sentences: add those that the code has, with empty translations, and drop those that it has no more."""

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

ROOT = Path(__file__).resolve().parent.parent / "src" / "merilo"

#: Sentence and context.
Key = tuple[str, str | None]

#: What takes a sentence as its first argument.
CALLS = ("Text", "markup", "both_languages")

#: Names of currencies are looked up by their codes.
CURRENCIES = ("EUR", "RUB", "USD")


def sentences() -> set[Key]:
    """Every sentence of the code and the templates."""
    found: set[Key] = {(f"plural of {code}", None) for code in CURRENCIES}
    for path in sorted(ROOT.rglob("*")):
        if path.is_relative_to(ROOT / "cli"):
            continue  # the terminal is in English
        read = {".py": in_code, ".j2": in_template}.get(path.suffix)
        if read:
            found.update(read(path.read_text(encoding="utf-8")))
    return found


def in_code(text: str) -> Iterator[Key]:
    """The sentences of `Text("...")`, `markup("...")` and `both_languages("...")` in a module."""
    if any(f"{name}(" in text for name in CALLS):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS and node.args:
                if not isinstance(node.args[0], ast.Constant):
                    continue
                contexts = [one.value.value for one in node.keywords if one.arg == "context"]
                yield str(node.args[0].value), contexts[0] if contexts else None


def in_template(text: str) -> Iterator[Key]:
    """The sentences of `_("...")` and `text("...")` in a template."""
    for node in Environment(autoescape=True).parse(text).find_all(nodes.Call):
        if (
            isinstance(node.node, nodes.Name)
            and node.node.name in {"_", "text"}
            and isinstance(node.args[0], nodes.Const)
        ):
            contexts = [one.value.value for one in node.kwargs if one.key == "context"]
            yield node.args[0].value, contexts[0] if contexts else None


def translations(path: Path) -> dict[Key, str]:
    """The translations of a catalogue."""
    with path.open("rb") as stream:
        return {(one.id, one.context): one.string for one in read_po(stream) if one.id}


def main() -> None:
    """Write every catalogue again."""
    wanted = sentences()
    for path in sorted((ROOT / "locale").glob("*.po")):
        known = translations(path)
        catalogue = Catalog(locale=path.stem, fuzzy=False)
        for sentence, context in wanted:
            catalogue.add(sentence, known.get((sentence, context), ""), context=context)
        with path.open("wb") as stream:
            write_po(stream, catalogue, width=118, sort_output=True, omit_header=True)
        missing = sorted(sentence for sentence, context in wanted if not known.get((sentence, context)))
        print(
            f"{path.stem}: {len(wanted)} sentences, {len(missing)} without a translation",
            *missing,
            sep="\n  ",
        )


if __name__ == "__main__":
    main()
