"""Writing the section "Human baseline" of `raw_readme_ru.json` and `raw_readme_en.json` without other changes of the file."""

from __future__ import annotations

import re
from typing import Final

from merilo.reports.json_editing import decoded_object, encoded_like, with_members

SECTION: Final = "Human baseline"

#: The beginning of a tag, and the middle of a link or picture: names from a dataset must not become these in Markdown.
_MARKUP: Final = re.compile(r"<(?=[A-Za-z/!?])|\]\(")


def readme_with_section(raw: bytes, section: str, file: str) -> bytes:
    """Set the section "Human baseline" of a card and keep every other byte.

    Args:
        raw: the file `raw_readme_ru.json` or `raw_readme_en.json`: section -> text.
        section: the new text; HTML and links in it are escaped, because names from datasets occur in it.
        file: the file's name, for messages.

    Raises:
        InputError: the file is not JSON.
        DataError: the file is not an object.
    """
    text, card = decoded_object(raw, file)
    section = _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", section)
    key = next((name for name in card if name.strip().casefold() == SECTION.casefold()), SECTION)
    return encoded_like(raw, with_members(text, {key: section}))
