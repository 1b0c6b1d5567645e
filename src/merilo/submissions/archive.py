"""Read untrusted archives in bounded memory, without unpacking them to disk."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from merilo.errors import InputError
from merilo.text import Text

#: A submission holds about two dozen files, far fewer than this.
MAX_ENTRIES: Final = 1000
#: The directory is read into memory as a whole before its entries are counted.
MAX_DIRECTORY_BYTES: Final = 1 << 20
#: The longest valid file, the largest test with all its texts repeated, is 28 MB.
MAX_FILE_BYTES: Final = 32 << 20
MAX_TOTAL_BYTES: Final = 256 << 20
#: Repetitive answers compress about 50 times; above `RATIO_MATTERS_FROM` bytes no valid file compresses 200 times.
MAX_RATIO: Final = 200
RATIO_MATTERS_FROM: Final = 8 << 20
#: An archive of a folder has the folder's name before every name; macOS adds a second folder with metadata.
MAX_DEPTH: Final = 3

_END: Final = struct.Struct("<4s4H2LH")
_END_SIGNATURE: Final = b"PK\x05\x06"
_LOCATOR_SIGNATURE: Final = b"PK\x06\x07"
_LOCATOR_SIZE: Final = 20
_LONGEST_COMMENT: Final = 0xFFFF
_METHODS: Final = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED: Final = 0x1

#: What `zipfile` raises for a broken archive.
_BROKEN: Final = (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError)

_NOT_ZIP: Final = Text("it is not a ZIP file, or it is truncated")
_TOO_MANY: Final = Text("it has more than {most:# file|# files}", most=MAX_ENTRIES)


class ArchiveError(InputError):
    """An archive that is broken or hostile.

    Args:
        reason: why it is refused.
        file: the archive.
    """

    def __init__(self, reason: Text, *, file: object) -> None:
        self.reason = reason
        super().__init__(f"the archive is refused: {reason}", file=file)


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive that passed all checks that need no unpacking.

    Attributes:
        file: the archive's name as the user gave it.
        entries: its files, by path.
    """

    file: str
    entries: dict[str, zipfile.ZipInfo]
    _zip: zipfile.ZipFile

    def read(self, path: str) -> bytes:
        """Return the content of a file, at most `MAX_FILE_BYTES`.

        Raises:
            ArchiveError: the file is larger than the directory says, or damaged.
        """
        info = self.entries[path]
        try:
            with self._zip.open(info) as stream:
                content = stream.read(info.file_size + 1)
        except (*_BROKEN, zlib.error, RuntimeError) as error:
            damaged = Text("the file {name} is damaged", name=shown(path))
            raise ArchiveError(damaged, file=self.file) from error
        if len(content) != info.file_size:
            differs = Text(
                "the size of the file {name} differs from the size that the archive states", name=shown(path)
            )
            raise ArchiveError(differs, file=self.file)
        return content


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a submission archive.

    The following are refused before unpacking: files that are not ZIP, or truncated; more than `MAX_ENTRIES`
    files; names that are absolute, lead out of their folder, nest deeper than `MAX_DEPTH`, or occur twice (in
    any letter case); links and devices; encryption; rare compression methods, whose memory use the archive
    sets; sizes, totals and compression ratios beyond the limits.

    Raises:
        InputError: there is no such file.
        ArchiveError: the archive is refused; the message gives the reason.
    """
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    with path.open("rb") as stream:
        try:
            _check_directory(stream, path)
            opened = zipfile.ZipFile(stream)
        except (*_BROKEN, struct.error, OverflowError) as error:
            raise ArchiveError(_NOT_ZIP, file=path) from error
        with opened:
            yield Archive(str(path), _checked(opened.infolist(), path), opened)


def shown(path: str) -> str:
    r"""Make an untrusted name safe to print: no control characters, no unpaired surrogates, limited length.

    Example:
        >>> print(shown("a\x1b[31m.json"))
        'a\x1b[31m.json'
    """
    text = path if path.isprintable() else ascii(path)[1:-1]
    return f"'{text[:80]}…'" if len(text) > 80 else f"'{text}'"


def _check_directory(stream: IO[bytes], path: Path) -> None:
    """Check the directory's size in the end record before `zipfile` reads the whole directory."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _END.size - _LONGEST_COMMENT - _LOCATOR_SIZE))
    tail = stream.read()
    place = tail.rfind(_END_SIGNATURE)
    if place < 0 or len(tail) - place < _END.size:
        raise ArchiveError(_NOT_ZIP, file=path)
    if tail[max(0, place - _LOCATOR_SIZE) :].startswith(_LOCATOR_SIGNATURE):
        raise ArchiveError(Text("it is in the ZIP64 format, which only enormous archives need"), file=path)
    _, _, _, _, entries, length, _, _ = _END.unpack_from(tail, place)
    if entries > MAX_ENTRIES or length > MAX_DIRECTORY_BYTES:
        raise ArchiveError(_TOO_MANY, file=path)
    stream.seek(0)


def _checked(infos: list[zipfile.ZipInfo], path: Path) -> dict[str, zipfile.ZipInfo]:
    if len(infos) > MAX_ENTRIES:
        raise ArchiveError(_TOO_MANY, file=path)
    entries: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    for info in infos:
        reason = _name_fault(info) or _form_fault(info) or _size_fault(info)
        if reason is not None:
            raise ArchiveError(reason, file=path)
        name = info.filename.rstrip("/")
        if name.casefold() in seen:
            raise ArchiveError(Text("the name {name} occurs twice", name=shown(name)), file=path)
        seen.add(name.casefold())
        if not info.is_dir():
            entries[name] = info
    total = sum(info.file_size for info in entries.values())
    packed = sum(info.compress_size for info in entries.values())
    if total > MAX_TOTAL_BYTES or (total > RATIO_MATTERS_FROM and total > MAX_RATIO * packed):
        large = Text("it would unpack to {total} bytes from {packed}", total=total, packed=packed)
        raise ArchiveError(large, file=path)
    return entries


def _name_fault(info: zipfile.ZipInfo) -> Text | None:
    name = info.orig_filename
    parts = PurePosixPath(name).parts
    if name != info.filename or "\\" in name or ":" in name or not name.isprintable():
        return Text("the file name {name} is not allowed", name=shown(name))
    if name.startswith("/") or ".." in parts or not parts:
        return Text("the name {name} leads out of the folder", name=shown(name))
    if len(parts) > MAX_DEPTH or len(name) > 255:
        return Text("the file {name} is nested too deeply", name=shown(name))
    return None


def _form_fault(info: zipfile.ZipInfo) -> Text | None:
    name, mode = shown(info.filename), stat.S_IFMT(info.external_attr >> 16)
    if mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return Text("{name} is a link or a device", name=name)
    if info.flag_bits & _ENCRYPTED:
        return Text("the file {name} is encrypted", name=name)
    if info.compress_type not in _METHODS:
        return Text("the file {name} is compressed with an unsupported method", name=name)
    return None


def _size_fault(info: zipfile.ZipInfo) -> Text | None:
    if info.file_size <= MAX_FILE_BYTES:
        return None
    return Text(
        "the file {name} is larger than {most:# byte|# bytes}", name=shown(info.filename), most=MAX_FILE_BYTES
    )
