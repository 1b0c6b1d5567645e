"""Writing to files that are not regular."""

import os
import threading
from pathlib import Path

from merilo.atomic_write import write_text


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "ответ")
    reader.join()
    assert read == ["ответ"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
