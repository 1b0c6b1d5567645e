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

from merilo.bilingual import Language
from merilo.errors import InputError
from merilo.submissions.faults import Fault, fault

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


class ArchiveError(InputError):
    """An archive that is broken or hostile.

    Args:
        ru: the reason, in Russian.
        en: the reason, in English.
        file: the archive.
        language: the language of the message.
    """

    def __init__(self, ru: str, en: str, *, file: object, language: Language = "en") -> None:
        self.fault: Fault = fault("unreadable_zip", ru, en)
        self._texts = (ru, en)
        super().__init__(self.fault.message.told(language), file=file)

    def told(self, language: Language) -> ArchiveError:
        """Return the same error in another language."""
        return ArchiveError(*self._texts, file=self.place.file, language=language)


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
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            RuntimeError,
            ValueError,
            NotImplementedError,
        ) as error:
            raise ArchiveError(
                f"файл {shown(path)} повреждён", f"the file {shown(path)} is damaged", file=self.file
            ) from error
        if len(content) != info.file_size:
            raise ArchiveError(
                f"размер файла {shown(path)} не совпадает с заявленным",
                f"the size of the file {shown(path)} differs from the size that the archive states",
                file=self.file,
            )
        return content


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a submission archive.

    The following are refused before unpacking: files that are not ZIP, or truncated; more than `MAX_ENTRIES` files; names
    that are absolute, lead out of their folder, nest deeper than `MAX_DEPTH`, or occur twice (in any letter case);
    links and devices; encryption; rare compression methods, whose memory use the archive sets; sizes, totals and
    compression ratios beyond the limits.

    Raises:
        InputError: there is no such file.
        ArchiveError: the archive is refused; the message gives the reason.
    """
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    with path.open("rb") as stream:
        opened, entries = _opened(stream, path)
        with opened:
            yield Archive(str(path), entries, opened)


def _opened(stream: IO[bytes], path: Path) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    try:
        _check_directory(stream, path)
        opened = zipfile.ZipFile(stream)
    except (
        zipfile.BadZipFile,
        struct.error,
        OSError,
        EOFError,
        NotImplementedError,
        ValueError,
        OverflowError,
    ) as error:
        raise _refused(
            path, "это не ZIP-файл, или он обрезан", "it is not a ZIP file, or it is truncated"
        ) from error
    return opened, _checked(opened.infolist(), path)


def shown(path: str) -> str:
    r"""Make an untrusted name safe to print: no control characters, no unpaired surrogates, limited length.

    Example:
        >>> print(shown("a\x1b[31m.json"))
        'a\x1b[31m.json'
    """
    text = path if path.isprintable() else ascii(path)[1:-1]
    return f"'{text[:80]}…'" if len(text) > 80 else f"'{text}'"


def _refused(path: Path, ru: str, en: str) -> ArchiveError:
    return ArchiveError(ru, en, file=path)


def _check_directory(stream: IO[bytes], path: Path) -> None:
    """Check the directory's size in the end record before `zipfile` reads the whole directory."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _END.size - _LONGEST_COMMENT - _LOCATOR_SIZE))
    tail = stream.read()
    place = tail.rfind(_END_SIGNATURE)
    if place < 0 or len(tail) - place < _END.size:
        raise _refused(path, "это не ZIP-файл, или он обрезан", "it is not a ZIP file, or it is truncated")
    if tail[max(0, place - _LOCATOR_SIZE) :].startswith(_LOCATOR_SIGNATURE):
        raise _refused(
            path,
            "формат ZIP64 нужен только огромным архивам",
            "it is in the ZIP64 format, which only enormous archives need",
        )
    _, _, _, _, entries, length, _, _ = _END.unpack_from(tail, place)
    if entries > MAX_ENTRIES or length > MAX_DIRECTORY_BYTES:
        raise _refused(path, f"в нём больше {MAX_ENTRIES} файлов", f"it has more than {MAX_ENTRIES} files")
    stream.seek(0)


def _checked(infos: list[zipfile.ZipInfo], path: Path) -> dict[str, zipfile.ZipInfo]:
    if len(infos) > MAX_ENTRIES:
        raise _refused(path, f"в нём больше {MAX_ENTRIES} файлов", f"it has more than {MAX_ENTRIES} files")
    entries: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    for info in infos:
        reason = _name_fault(info) or _form_fault(info) or _size_fault(info)
        if reason is not None:
            raise _refused(path, *reason)
        name = info.filename.rstrip("/")
        if name.casefold() in seen:
            raise _refused(
                path, f"имя {shown(name)} встречается дважды", f"the name {shown(name)} occurs twice"
            )
        seen.add(name.casefold())
        if not info.is_dir():
            entries[name] = info
    total = sum(info.file_size for info in entries.values())
    packed = sum(info.compress_size for info in entries.values())
    if total > MAX_TOTAL_BYTES or (total > RATIO_MATTERS_FROM and total > MAX_RATIO * packed):
        raise _refused(
            path,
            f"в распакованном виде это {total} байт при {packed} сжатых",
            f"it would unpack to {total} bytes from {packed}",
        )
    return entries


def _name_fault(info: zipfile.ZipInfo) -> tuple[str, str] | None:
    name = info.orig_filename
    parts = PurePosixPath(name).parts
    if name != info.filename or "\\" in name or ":" in name or not name.isprintable():
        return f"недопустимое имя файла {shown(name)}", f"the file name {shown(name)} is not allowed"
    if name.startswith("/") or ".." in parts or not parts:
        return (
            f"имя {shown(name)} выводит за пределы папки",
            f"the name {shown(name)} leads out of the folder",
        )
    if len(parts) > MAX_DEPTH or len(name) > 255:
        return f"файл {shown(name)} вложен слишком глубоко", f"the file {shown(name)} is nested too deeply"
    return None


def _form_fault(info: zipfile.ZipInfo) -> tuple[str, str] | None:
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return (
            f"{shown(info.filename)} — ссылка или устройство",
            f"{shown(info.filename)} is a link or a device",
        )
    if info.flag_bits & _ENCRYPTED:
        return f"файл {shown(info.filename)} зашифрован", f"the file {shown(info.filename)} is encrypted"
    if info.compress_type not in _METHODS:
        return (
            f"файл {shown(info.filename)} сжат необычным способом",
            f"the file {shown(info.filename)} is compressed with an unsupported method",
        )
    return None


def _size_fault(info: zipfile.ZipInfo) -> tuple[str, str] | None:
    if info.file_size <= MAX_FILE_BYTES:
        return None
    return (
        f"файл {shown(info.filename)} больше {MAX_FILE_BYTES} байт",
        f"the file {shown(info.filename)} is larger than {MAX_FILE_BYTES} bytes",
    )
