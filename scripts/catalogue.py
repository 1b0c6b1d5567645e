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

#: Names of currencies are looked up by their codes.
CURRENCIES = ("EUR", "RUB", "USD")


def sentences() -> dict[Key, str]:
    """Every sentence of the code and the templates, with the room that has it first."""
    found: dict[Key, str] = {(f"plural of {code}", None): "merilo" for code in CURRENCIES}
    for path in sorted(ROOT.rglob("*")):
        read = {".py": in_code, ".j2": in_template}.get(path.suffix)
        if read:
            room = path.relative_to(ROOT).parts[0] if path.parent != ROOT else "merilo"
            for key in read(path.read_text(encoding="utf-8")):
                found.setdefault(key, room)
    return found


def in_code(text: str) -> Iterator[Key]:
    """The sentences of `Text("...")` in a module."""
    if "Text(" in text:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Text" and node.args:
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


def translations(folder: Path) -> dict[Key, str]:
    """The translations of a catalogue."""
    found = {}
    for path in sorted(folder.glob("*.po")):
        with path.open("rb") as stream:
            found |= {(one.id, one.context): one.string for one in read_po(stream) if one.id}
    return found


def main() -> None:
    """Write every catalogue again."""
    wanted = sentences()
    for folder in sorted(path for path in (ROOT / "locale").iterdir() if path.is_dir()):
        known = translations(folder)
        for room in sorted({*wanted.values(), *(path.stem for path in folder.glob("*.po"))}):
            catalogue = Catalog(locale=folder.name, fuzzy=False)
            for (sentence, context), own in wanted.items():
                if own == room:
                    catalogue.add(sentence, known.get((sentence, context), ""), context=context)
            path = folder / f"{room}.po"
            if not len(catalogue):
                path.unlink(missing_ok=True)
                continue
            with path.open("wb") as stream:
                write_po(stream, catalogue, width=118, sort_output=True, omit_header=True)
        missing = [sentence for (sentence, context) in wanted if not known.get((sentence, context))]
        print(
            f"{folder.name}: {len(wanted)} sentences, {len(missing)} without a translation",
            *missing,
            sep="\n  ",
        )


if __name__ == "__main__":
    main()
