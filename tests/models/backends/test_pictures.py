"""Pictures are read below a folder and nowhere else."""

from pathlib import Path

import pytest
from every import every

from merilo.datasets.rendering import Media
from merilo.errors import DataError
from merilo.models.backends.servers import read_picture

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.png").write_bytes(PNG)
    below = tmp_path / "media"
    below.mkdir()
    (below / "link.png").symlink_to(tmp_path / "secret.png")
    (below / "text.png").write_text("no picture")
    for name, content in [
        ("a.png", PNG),
        ("a.gif", b"GIF89a"),
        ("a.webp", b"RIFF1234WEBP"),
        ("a.jpg", b"\xff\xd8\xff"),
    ]:
        (below / name).write_bytes(content)
    return below


@every(
    ("name", "kind"),
    [("a.png", "image/png"), ("a.gif", "image/gif"), ("a.webp", "image/webp"), ("a.jpg", "image/jpeg")],
)
def test_the_kind_is_read_from_the_content(folder: Path, name: str, kind: str) -> None:
    assert read_picture(Media("image", name), folder)[0] == kind


@every(
    ("path", "message"),
    [
        ("../secret.png", "is not below"),
        ("link.png", "is not below"),
        ("missing.png", "cannot be read: No such file or directory"),
        ("text.png", "is not a PNG, JPEG, GIF or WebP picture"),
        (".", "cannot be read: Is a directory"),
    ],
)
def test_other_files_are_refused(folder: Path, path: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_picture(Media("image", path), folder)


def test_an_absolute_path_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="is not below"):
        read_picture(Media("image", str(folder.parent / "secret.png")), folder)


def test_without_a_folder_no_picture_is_read() -> None:
    with pytest.raises(DataError, match="the item shows <image>, and no folder of media is given"):
        read_picture(Media("image", "a.png"), None)
