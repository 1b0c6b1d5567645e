"""The notebook of a published folder, run in the test's process, which takes a fraction of the time of a kernel."""

import contextlib
import io
import json
from pathlib import Path


def run_notebook(hb: Path, *, save: bool = False) -> dict[str, object]:
    """Run the cells, and return their variables; `save` writes what they print into the notebook, as Run All does."""
    book, names = json.loads((hb / "hb.ipynb").read_text(encoding="utf-8")), dict[str, object]()
    with contextlib.chdir(hb):
        for cell in (cell for cell in book["cells"] if cell["cell_type"] == "code"):
            code, printed = "".join(cell["source"]), io.StringIO()
            *_, last = ["", *code.rstrip().splitlines()]
            with contextlib.redirect_stdout(printed):
                exec(code, names)
                if last.isidentifier() or last.endswith(".head()"):
                    shown = eval(last, names)
                    print(repr(shown), getattr(shown, "_repr_html_", str)())
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [printed.getvalue()]}]
    if save:
        (hb / "hb.ipynb").write_text(json.dumps(book, ensure_ascii=False), encoding="utf-8")
    return names
