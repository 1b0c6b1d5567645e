"""A picture, a sound and a film, made here: a few kilobytes each."""

import base64
import io
import math
import struct
import wave
import zlib
from typing import Any


def png(colour: tuple[int, int, int] = (200, 60, 40)) -> bytes:
    """A picture of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 48, 32, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(colour) * 48) * 32
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def wav(seconds: float = 0.5) -> bytes:
    """A tone of 440 Hz."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(
            b"".join(
                struct.pack("<h", int(8000 * math.sin(2 * math.pi * 440 * n / 8000)))
                for n in range(int(8000 * seconds))
            )
        )
    return file.getvalue()


_RECORD = """async () => {
  const canvas = document.createElement("canvas");
  canvas.width = 64; canvas.height = 48;
  const pen = canvas.getContext("2d");
  const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: "video/webm" });
  const pieces = [];
  recorder.ondataavailable = (event) => pieces.push(event.data);
  const stopped = new Promise((done) => { recorder.onstop = done; });
  recorder.start();
  for (let shown = 0; shown < 10; shown++) {
    pen.fillStyle = shown % 2 ? "navy" : "orange";
    pen.fillRect(0, 0, 64, 48);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""));
}"""


def webm(browser: Any) -> bytes:
    """A film of two colours, recorded by the browser itself."""
    page = browser.new_page()
    page.goto("about:blank")
    recorded = base64.b64decode(page.evaluate(_RECORD))
    page.close()
    return recorded
