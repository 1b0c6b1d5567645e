"""Pictures in a request, as base64 text."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from merilo.datasets.rendering import Media
from merilo.errors import DataError
from merilo.wording import shown

#: What files of each kind start with.
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture.

    Attributes:
        kind: its media type, such as `image/png`.
        base64: its bytes.
    """

    kind: str
    base64: str

    @property
    def data_url(self) -> str:
        """The picture as a URL."""
        return f"data:{self.kind};base64,{self.base64}"


def read_picture(media: Media, folder: Path | None) -> Picture:
    """Read a picture below a folder.

    Args:
        media: the medium of the item.
        folder: the folder that its path is below.

    Raises:
        DataError: there is no folder, no such file below it, or it is not a PNG, JPEG, GIF or WebP picture.
    """
    if folder is None:
        raise DataError(f"the item shows {media}, and no folder of media is given")
    path = folder / media.path
    # Links are followed before the check, so that none leads out of the folder.
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{shown(media.path)} is not below {shown(folder)}")
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise DataError(
            f"{shown(path)} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    for signature, kind in _SIGNATURES:
        if content.startswith(signature):
            return Picture(kind, b64encode(content).decode())
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return Picture("image/webp", b64encode(content).decode())
    raise DataError(f"{shown(path)} is not a PNG, JPEG, GIF or WebP picture")
