"""Write the files of a Label Studio project: tasks as JSON and the labelling configuration for the form of the answers."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import quoteattr

from merilo.strict_json import Json, indented
from merilo.studies.instruction_html import instruction_body, training_page
from merilo.studies.outgoing import Outgoing
from merilo.studies.study_tasks import AnswerForm

_TAGS: Final[dict[AnswerForm, str]] = {
    "number": '<Number name="answer" toName="prompt"{required}/>',
    "program": '<TextArea name="answer" toName="prompt" maxSubmissions="1" editable="true" rows="12"{required}/>',
}
_TEXT: Final = (
    '<TextArea name="answer" toName="prompt" maxSubmissions="1" editable="true" rows="1"{required}/>'
)


def label_studio_files(outgoing: Outgoing) -> dict[str, str]:
    """Return the files of a Label Studio project by name.

    `tasks.json` holds no known answer, because the community edition checks nobody with them and shows all data of a task.
    """
    tasks: list[Json] = [{"data": {**outgoing.shown(task)}} for task in outgoing.mixed]
    files = {
        "tasks.json": indented(tasks) + "\n",
        "labels.xml": _configuration(outgoing),
        "instruction.html": instruction_body(outgoing),
    }
    if outgoing.training:
        files["training.html"] = training_page(outgoing)
    return files


def _configuration(outgoing: Outgoing) -> str:
    """The labelling configuration. `Text` shows the prompt as text, so no markup of a dataset is run."""
    beside = bool(outgoing.mine) and not outgoing.labels
    tags = ['<Text name="prompt" value="$prompt"/>']
    for name, kind in outgoing.media.items():
        tags.append(
            f"<{kind.title()} name={quoteattr(f'shown_{name}')} value={quoteattr(f'$media_{name}')}/>"
        )
    if outgoing.labels:
        tags.append(
            '<Choices name="answer" toName="prompt" choice="single" showInline="false" required="true">'
        )
        tags += [f"  <Choice value={quoteattr(label)}/>" for label in outgoing.labels]
        tags.append("</Choices>")
    else:
        tags.append(_TAGS.get(outgoing.form, _TEXT).format(required="" if beside else ' required="true"'))
    if beside:
        tags += [
            '<Choices name="mine" toName="prompt" choice="multiple">',
            f"  <Choice value={quoteattr(outgoing.mine)}/>",
            "</Choices>",
        ]
    inner = "".join(f"  {tag}\n" for tag in tags)
    return f'<View style="white-space: pre-wrap">\n{inner}</View>\n'
