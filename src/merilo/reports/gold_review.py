"""The page on which an author decides item by item whether a gold answer is wrong, ambiguous or fine.

The page is one file that opens from disk. It keeps the decisions in the browser's storage and saves them as the list
of the audit with the columns `decision` and `revised_gold` filled in. Text from datasets, annotators and models is
escaped, and the page's content security policy admits its own script alone.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from importlib.resources import files
from typing import Final

from markupsafe import Markup

from merilo.baselines.audit import AuditResult, model_answers, tally
from merilo.people.audit.decisions import COLUMN, DECISION_COLUMN, DECISIONS
from merilo.people.audit.findings import VERDICTS
from merilo.reports.charts import page_environment
from merilo.text import Text

#: The file that `merilo audit --out` writes.
REVIEW_FILE: Final = "review.html"

#: The largest number of items on the page; further ones are in `audit.csv`.
MOST_ITEMS: Final = 1000

_NAMES: Final = {
    "wrong": Text("the gold answer is wrong"),
    "ambiguous": Text("the item is ambiguous"),
    "fine": Text("the gold answer is fine"),
}


def review_page(result: AuditResult) -> str | None:
    """Render the page for deciding about gold answers; `None` if no answer contradicts one.

    Args:
        result: the audit.

    Returns:
        HTML without links to anything outside itself. If there are more than `MOST_ITEMS` items, the page holds those
        with the most evidence against their gold answer and says so.
    """
    study = result.details
    found = study.audit.findings[:MOST_ITEMS]
    if not found:
        return None
    table = result.findings
    # The rows of audit.csv, without the two columns that are filled in.
    columns = [name for name in table.columns if name not in {DECISION_COLUMN, COLUMN}]
    rows = [
        ["" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in row]
        for row in table.select(columns).head(MOST_ITEMS).iter_rows()
    ]
    items = []
    for finding, row in zip(found, rows, strict=True):
        number = study.numbers[finding.item]
        given = [*(one.answer for one in finding.answers), *finding.models.values()]
        items.append(
            {
                "number": number,
                "id": study.ids.get(number),
                "control": number in study.controls,
                "row": json.dumps(row, ensure_ascii=False),
                "inputs": [(name, text) for name, text in study.inputs[number].items() if text],
                "finding": finding,
                "verdict": VERDICTS[finding.verdict],
                "best": Text("none of these") if finding.best is None else finding.best,
                "answers": tally(finding),
                "models": model_answers(finding),
                "proposed": [one for one in dict.fromkeys(given) if one != finding.gold],
            }
        )
    script = (files("merilo.reports") / "templates" / "gold_review.js").read_text("utf-8")
    head = json.dumps([*columns, DECISION_COLUMN, COLUMN], ensure_ascii=False)
    # Decisions are kept for these golds: another audit of the same items with the same golds finds them again.
    kept = hashlib.sha256(
        "\n".join(f"{study.numbers[one.item]}\t{one.gold}" for one in study.audit.findings).encode()
    )
    template = page_environment().get_template("gold_review.html.j2")
    return template.render(
        name=result.before.settings.dataset or "",
        items=items,
        total=len(study.audit.findings),
        head=head,
        key=kept.hexdigest()[:16],
        decisions={name: _NAMES[name] for name in DECISIONS},
        joint=study.audit.joint is not None,
        script=Markup(script),  # noqa: S704 - a file of this package
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
