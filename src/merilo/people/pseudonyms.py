"""Pseudonyms of annotators: stable within a study, and not traceable to the platform's ids.

Ids may be few and easy to guess (Label Studio counts its users from 1). A pseudonym is therefore a digest
with a key that is not published: by default, a hash of the study's files. Anyone who has those files knows
the ids anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Final

import polars as pl

from merilo.errors import UsageError
from merilo.files import opened
from merilo.people.simulation import SIMULATED_PREFIX
from merilo.responses import Responses

PREFIX: Final = "annotator-"

#: Length of a pseudonym in hexadecimal digits; longer if two annotators would otherwise share one.
_DIGITS: Final = 8
_ALL_DIGITS: Final = 64

_BLOCK: Final = 1 << 20


def key_of(files: Iterable[Path]) -> bytes:
    """Make a study's key from the content of its files, independent of their names and order.

    Raises:
        InputError: a file cannot be read.
    """
    digests = []
    for path in files:
        digest = blake2b(person=b"merilo study")
        with opened(path) as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
        digests.append(digest.digest())
    return blake2b(b"".join(sorted(digests)), person=b"merilo key").digest()


def pseudonyms(ids: Iterable[str], key: bytes) -> dict[str, str]:
    """Give every id a pseudonym, `annotator-` and a digest; ids of simulated annotators keep their prefix.

    The pseudonym of an id follows from the id and the key. If two ids would share a pseudonym, all are made longer.

    Args:
        ids: the annotators' ids, in any order.
        key: the study's secret, at most 64 bytes; see `key_of`.

    Returns:
        id -> pseudonym, all different.

    Raises:
        UsageError: the key is empty or too long.

    Example:
        >>> names = pseudonyms(["w1", "w2"], b"a secret of the study")
        >>> names == pseudonyms(["w2", "w1"], b"a secret of the study"), len(set(names.values()))
        (True, 2)
    """
    if not 0 < len(key) <= 64:
        raise UsageError("the key for pseudonyms must have 1 to 64 bytes")
    digests = {
        name: (
            SIMULATED_PREFIX if name.startswith(SIMULATED_PREFIX) else PREFIX,
            blake2b(name.encode("utf-8", "surrogatepass"), key=key, digest_size=32).hexdigest(),
        )
        for name in set(ids)
    }
    for digits in range(_DIGITS, _ALL_DIGITS + 1):
        names = {name: prefix + digest[:digits] for name, (prefix, digest) in digests.items()}
        if len(set(names.values())) == len(names):
            break
    return names


def anonymise(responses: Responses, key: bytes) -> tuple[Responses, dict[str, str]]:
    """Replace every annotator's id, and the folders of file names; pages get new names by digest.

    Args:
        responses: the responses.
        key: the study's secret; see `key_of`.

    Returns:
        The responses, and the pseudonym of every annotator.
    """
    pages = responses.table["page"].drop_nulls().unique().to_list()
    names = pseudonyms(responses.table["respondent"].unique().to_list(), key)
    page_names = {page: f"page-{name.removeprefix(PREFIX)}" for page, name in pseudonyms(pages, key).items()}
    files = _file_names(responses.table["file"].unique(maintain_order=True).to_list())
    table = responses.table.with_columns(
        pl.col("respondent").replace(names),
        pl.col("page").replace(page_names),
        pl.col("file").replace(files),
    )
    unread = (replace(u, file=files.get(u.file, Path(u.file).name)) for u in responses.unread)
    return replace(responses, table=table, unread=tuple(unread)), names


def _file_names(files: Sequence[str]) -> dict[str, str]:
    """Map files to their names without folders; further files of the same name are numbered."""
    seen: Counter[str] = Counter()
    names = {}
    for file in files:
        name = Path(file).name
        seen[name] += 1
        names[file] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names
