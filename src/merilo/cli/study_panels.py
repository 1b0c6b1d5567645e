"""`merilo study mturk`, `label-studio` and `prolific`: a study on a platform through the platform's own API.

Where money moves, a command shows what it would do, and does it only with `--yes`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from merilo.atomic_write import OWNER, refuse_existing, write_text
from merilo.cli.options import ArmOption, ForceOption, JsonOption, LanguageOption, MediaOption, StudyArgument
from merilo.cli.output import check_places, deliver, say, show, show_table, working
from merilo.cli.study_site import DatabaseOption
from merilo.errors import UsageError
from merilo.studies.study_folder import open_study
from merilo.text import Money, Text

if TYPE_CHECKING:
    from merilo.site.prolific_api import PanelStudy
    from merilo.site.prolific_study import BonusPlan, PanelReport
    from merilo.studies.label_studio_project import PushedProject
    from merilo.studies.mechanical_turk import CreatedHits, Payments, TurkStatus

mturk = typer.Typer(
    add_completion=False,
    help="A study on Amazon Mechanical Turk, with the credentials of boto3: on the sandbox or, with --live, on the "
    "marketplace.",
)

label_studio = typer.Typer(
    add_completion=False,
    help="A study on a Label Studio server, with the access token in LABEL_STUDIO_API_KEY.",
)

prolific = typer.Typer(
    add_completion=False,
    help="A study on Merilo's own site whose people come from Prolific, with the token in the environment variable "
    "PROLIFIC_TOKEN.",
)

LiveOption: TypeAlias = Annotated[
    bool, typer.Option("--live", help="Use the marketplace, with real people and real money.")
]
YesOption: TypeAlias = Annotated[
    bool, typer.Option("--yes", help="Do it; without it, the command only shows what it would do.")
]
ServerOption: TypeAlias = Annotated[
    str, typer.Option("--url", metavar="URL", help="The address of the server.")
]
PulledFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write the results to this new file and do not import them.")
]


@mturk.command("create")
def create_hits(
    study: StudyArgument,
    *,
    live: LiveOption = False,
    yes: YesOption = False,
    days: Annotated[float, typer.Option(min=0.01, max=365, help="How many days people can take a page.")] = 7,
    qualifications: Annotated[
        Path | None,
        typer.Option(help="A JSON list of QualificationRequirements, such as country or approval rate."),
    ] = None,
    arm: ArmOption = None,
    language: LanguageOption = None,
    media_url: MediaOption = "",
    json_to: JsonOption = None,
) -> int:
    """Make a HIT of each page of a frozen study; again: make the missing ones, and prolong those that expired."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - the help needs neither

    from merilo.strict_json import read_json  # noqa: PLC0415
    from merilo.studies.mechanical_turk import turk_study  # noqa: PLC0415

    check_places([study, qualifications], json_to)
    required = read_json(qualifications) if qualifications else []
    if not isinstance(required, list) or not all(isinstance(one, dict) for one in required):
        raise UsageError("must be a JSON list of objects", file=qualifications, field="--qualifications")
    turk = turk_study(open_study(study), live=live, arm=arm, language=language, media_url=media_url)
    with working(Text("Asking Mechanical Turk")):
        made = turk.create(
            days=days,
            qualifications=[one for one in required if isinstance(one, dict)],
            send=yes,
        )
    deliver(json_to, lambda: to_jsonable_python(made), partial(_show_created, made))
    return 0


@mturk.command("status")
def hit_status(
    study: StudyArgument, *, live: LiveOption = False, arm: ArmOption = None, json_to: JsonOption = None
) -> int:
    """Show how many answers are there, wait for approval, and are missing."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - the help needs neither

    from merilo.studies.mechanical_turk import turk_study  # noqa: PLC0415

    check_places([study], json_to)
    with working(Text("Asking Mechanical Turk")):
        found = turk_study(open_study(study), live=live, arm=arm).status()
    deliver(json_to, lambda: to_jsonable_python(found), partial(_show_status, found))
    return 0


@mturk.command("pull")
def pull_assignments(
    study: StudyArgument,
    *,
    live: LiveOption = False,
    out: PulledFile = None,
    arm: ArmOption = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Import all submitted assignments into the study. Answers of the sandbox are only written to --out."""
    from merilo.cli.study_table import show_import  # noqa: PLC0415 - the help needs no readers
    from merilo.studies.mechanical_turk import turk_study  # noqa: PLC0415

    if out is None and not live:
        raise UsageError(
            "answers of the sandbox are not imported: write them to a file with --out, or give --live"
        )
    check_places([study], json_to)
    if out:
        refuse_existing(out, force=force)
    turk = turk_study(open_study(study), live=live, arm=arm)
    with working(Text("Asking Mechanical Turk")):
        if out:
            write_text(out, turk.results(), OWNER)
            deliver(json_to, lambda: {"file": str(out)}, partial(show, Text("The results: {file}", file=out)))
            return 0
        made = turk.pull()
    deliver(json_to, made.to_dict, partial(show_import, made))
    return 0


@mturk.command("approve")
def approve_assignments(
    study: StudyArgument,
    *,
    live: LiveOption = False,
    yes: YesOption = False,
    arm: ArmOption = None,
    json_to: JsonOption = None,
) -> int:
    """Approve all assignments that wait for it; reject on the platform's site what you do not want to pay."""
    from merilo.studies.mechanical_turk import turk_study  # noqa: PLC0415 - the help needs no readers

    check_places([study], json_to)
    with working(Text("Asking Mechanical Turk")):
        made = turk_study(open_study(study), live=live, arm=arm).approve(send=yes)
    deliver(json_to, made.to_dict, partial(_show_payments, made))
    return 0


@mturk.command("pay")
def pay_bonuses(
    study: StudyArgument,
    bonuses: Annotated[Path, typer.Argument(help="A table with the columns respondent and bonus (USD).")],
    *,
    reason: Annotated[str, typer.Option(help="What the people read about it.")],
    live: LiveOption = False,
    yes: YesOption = False,
    arm: ArmOption = None,
    json_to: JsonOption = None,
) -> int:
    """Pay bonuses; one of the same amount and reason is never paid twice."""
    from merilo.studies.mechanical_turk import read_bonuses, turk_study  # noqa: PLC0415 - the help needs no readers

    check_places([study, bonuses], json_to)
    amounts = read_bonuses(bonuses)
    with working(Text("Asking Mechanical Turk")):
        made = turk_study(open_study(study), live=live, arm=arm).pay(amounts, reason=reason, send=yes)
    deliver(json_to, made.to_dict, partial(_show_payments, made))
    return 0


@label_studio.command("push")
def push_study(
    study: StudyArgument,
    *,
    url: ServerOption,
    arm: ArmOption = None,
    language: LanguageOption = None,
    media_url: MediaOption = "",
    json_to: JsonOption = None,
) -> int:
    """Make a project with the tasks of a frozen study. A project that was made before stays as it is."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - the help needs neither

    from merilo.studies.label_studio_project import push_project  # noqa: PLC0415

    check_places([study], json_to)
    with working(Text("Asking Label Studio")):
        made = push_project(open_study(study), url, arm=arm, language=language, media_url=media_url)
    deliver(json_to, lambda: to_jsonable_python(made), partial(_show_pushed, made))
    return 0


@label_studio.command("pull")
def pull_annotations(
    study: StudyArgument, *, url: ServerOption, arm: ArmOption = None, json_to: JsonOption = None
) -> int:
    """Import the annotations of a study's project."""
    from merilo.cli.study_table import show_import  # noqa: PLC0415 - the help needs no readers
    from merilo.studies.label_studio_project import pull_project  # noqa: PLC0415

    check_places([study], json_to)
    with working(Text("Asking Label Studio")):
        made = pull_project(open_study(study), url, arm=arm)
    deliver(json_to, made.to_dict, partial(show_import, made))
    return 0


def _show_pushed(made: PushedProject) -> None:
    show(
        Text(
            "{address}: {n:# task|# tasks}, {overlap:# annotation|# annotations} each{before}",
            address=made.address,
            n=made.tasks,
            overlap=made.overlap,
            before="" if made.made else Text(", made before"),
        )
    )


def _show_created(made: CreatedHits) -> None:
    show(
        Text(
            "{n:# HIT|# HITs}, {answers:# answer|# answers} each, {reward} a HIT; new: {new}, prolonged: {more}",
            n=made.hits,
            answers=made.assignments,
            reward=Money(float(made.reward), "USD"),
            new=made.made,
            more=made.extended,
        ),
        Text("The new ones cost {cost} without the platform's fee.", cost=Money(float(made.cost), "USD")),
        Text("The account has {balance}.", balance=Money(float(made.balance), "USD")),
    )
    if not made.sent:
        _say_trial()


def _show_status(found: TurkStatus) -> None:
    show_table(
        [
            (Text("HITs"), found.hits),
            (Text("expired"), found.expired),
            (Text("answers wanted"), found.places),
            (Text("being answered"), found.working),
            (Text("waiting for approval"), found.submitted),
            (Text("approved"), found.approved),
            (Text("rejected", context="assignments"), found.rejected),
            (Text("people"), found.workers),
        ]
    )
    show(Text("The account has {balance}.", balance=Money(float(found.balance), "USD")))


def _show_payments(made: Payments) -> None:
    for one in made.payments:
        usd = Money(float(one.usd), "USD")
        before = Text(", was paid before") if one.before else ""
        show(Text("{person}: {amount}{before}", person=one.respondent, amount=usd, before=before))
    show(
        Text(
            "{n:# payment|# payments}, {amount} without the platform's fee",
            n=sum(not one.before for one in made.payments),
            amount=Money(float(made.usd), "USD"),
        )
    )
    if not made.sent:
        _say_trial()


@prolific.command("create")
def create_panel_study(
    study: StudyArgument,
    *,
    places: Annotated[
        int | None, typer.Option(min=1, max=100_000, help="For how many people. Default: the plan's number.")
    ] = None,
    minutes: Annotated[
        int | None,
        typer.Option(
            min=1, max=1440, help="The time that a person needs. Default: by the plan's items_per_hour."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The name that people see. Default: the study's.")] = None,
    description: Annotated[
        str | None, typer.Option(help="What people read about it. Default: a short text.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The public address of the site. Default: the address at which the site was served last.",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="ID", help="A project on Prolific. Default: the account's own.")
    ] = None,
    adopt: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="A study that was made on Prolific's pages, with the completion codes of the plan.",
        ),
    ] = None,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish", help="Publish it with --yes: Prolific reserves the money and invites people."
        ),
    ] = False,
    yes: YesOption = False,
    arm: ArmOption = None,
    database: DatabaseOption = None,
    json_to: JsonOption = None,
) -> int:
    """Make a draft on Prolific with the pay, the completion codes and the address of a frozen study; make it once."""
    from merilo.site.prolific_study import PAGE, StudyWish, on_prolific  # noqa: PLC0415 - the help needs no database

    check_places([study], json_to)
    wish = StudyWish(places, minutes, title, description, address, project)
    with on_prolific(study, arm=arm, database=database) as panel, working(Text("Asking Prolific")):
        made = panel.adopt(adopt) if adopt else panel.create(wish)
        if publish and yes:
            made = panel.publish(made)
        planned = panel.served.arm.pay.currency
    page = PAGE.format(study=made.id)
    if not made.address.startswith("https://"):
        say(
            Text(
                "warning: people elsewhere may not be able to open {address}",
                address=made.address.partition("/s/")[0],
            )
        )

    def shown() -> None:
        _show_panel_study(made, made.currency or planned)
        show(Text("Choose there who may take part, and look at it: {page}", page=page))
        if publish and not yes:
            _say_trial()

    deliver(
        json_to, lambda: {"study": made.id, "status": made.status, "places": made.places, "page": page}, shown
    )
    return 0


@prolific.command("status")
def panel_status(
    study: StudyArgument,
    *,
    out: Annotated[
        Path | None, typer.Option(help="A new table (CSV) of the people: code, answers, minutes, pay, bonus.")
    ] = None,
    arm: ArmOption = None,
    database: DatabaseOption = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:
    """Read the submissions; the items of people who returned theirs, timed out or were rejected go to others."""
    from merilo.site.prolific_study import on_prolific  # noqa: PLC0415 - the help needs no database

    check_places([study], json_to)
    if out:
        refuse_existing(out, force=force)
    with on_prolific(study, arm=arm, database=database) as panel, working(Text("Asking Prolific")):
        report = panel.report()
    if out:
        write_text(out, report.table(), OWNER)
    deliver(json_to, report.to_dict, partial(_show_panel, report, out))
    return 0


@prolific.command("approve")
def approve_submissions(
    study: StudyArgument,
    *,
    yes: YesOption = False,
    arm: ArmOption = None,
    database: DatabaseOption = None,
    json_to: JsonOption = None,
) -> int:
    """Approve the submissions of everyone who finished here; decide about the others on Prolific's pages."""
    from merilo.site.prolific_study import on_prolific  # noqa: PLC0415 - the help needs no database

    check_places([study], json_to)
    with on_prolific(study, arm=arm, database=database) as panel, working(Text("Asking Prolific")):
        report = panel.report()
        if yes:
            panel.approve(report)
    number, left = len(report.approvable), len(report.waiting) - len(report.approvable)
    total = report.study.reward * number

    def shown() -> None:
        show(
            Text(
                "{done:sent=approved|to approve}: {n:# submission|# submissions}, {amount} without Prolific's fee; "
                "left for you: {left}",
                done="sent" if yes else "",
                n=number,
                amount=_money(total, report.currency),
                left=left,
            )
        )
        if number and not yes:
            _say_trial()

    deliver(json_to, lambda: {"sent": yes, "approved": number, "total": total / 100, "left": left}, shown)
    return 0


@prolific.command("pay")
def pay_panel_bonuses(
    study: StudyArgument,
    *,
    bonuses: Annotated[
        Path | None,
        typer.Option(
            help="A table with the columns session and bonus, as 'status --out' writes it. Default: what the "
            "plan owes and Prolific does not pay by itself."
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Pay also what was asked for before and Prolific does not show as paid."
        ),
    ] = False,
    yes: YesOption = False,
    arm: ArmOption = None,
    database: DatabaseOption = None,
    json_to: JsonOption = None,
) -> int:
    """Pay bonuses: of each person's, what Prolific does not show as paid and was not asked for before."""
    from merilo.site.prolific_study import on_prolific, wanted_bonuses  # noqa: PLC0415 - the help needs no database

    check_places([study, bonuses], json_to)
    with on_prolific(study, arm=arm, database=database) as panel, working(Text("Asking Prolific")):
        report = panel.report()
        plan = panel.due(report, wanted_bonuses(bonuses, report) if bonuses else None, again=again)
        cost = panel.pay(report, plan, again=again) if yes and plan.cents else 0
    deliver(
        json_to, partial(plan.to_dict, sent=yes), partial(_show_bonuses, plan, cost, again=again, sent=yes)
    )
    return 0


def _money(cents: int, currency: str) -> Money:
    return Money(cents / 100, currency)


def _show_panel_study(study: PanelStudy, currency: str) -> None:
    show(
        Text(
            "{id}, {status}: {n:# place|# places}, {reward} each, {total} without Prolific's fee",
            id=study.id,
            status=study.status,
            n=study.places,
            reward=_money(study.reward, currency),
            total=_money(study.reward * study.places, currency),
        )
    )


def _show_panel(report: PanelReport, out: Path | None) -> None:
    _show_panel_study(report.study, report.currency)
    show_table(report.statuses.items(), (Text("status"), Text("people")))
    if report.given_back or report.reinstated:
        show(
            Text(
                "people whose items went to others: {gone}; people who are back: {back}",
                gone=report.given_back,
                back=report.reinstated,
            )
        )
    if report.missing:
        show(
            Text(
                "answers missing: {n:,}; further places on Prolific that would bring them: {more:,}",
                n=report.missing,
                more=report.places,
            )
        )
    if out:
        show(Text("{file}: {n:# person|# people}", file=out, n=len(report.people)))
    show(report.page)


def _show_bonuses(plan: BonusPlan, cost: int, *, again: bool, sent: bool) -> None:
    for session, cents in plan.cents.items():
        show(Text("{person}: {amount}", person=session, amount=_money(cents, plan.currency)))
    show(
        Text(
            "{done:sent=paid|to pay}: {n:# bonus|# bonuses}, {amount} without Prolific's fee; before: {paid}",
            done="sent" if sent else "",
            n=len(plan.cents),
            amount=_money(plan.total, plan.currency),
            paid=_money(plan.paid, plan.currency),
        )
    )
    if cost:
        show(
            Text("With the fees: {amount}. Prolific pays within minutes.", amount=_money(cost, plan.currency))
        )
    if plan.unconfirmed and not again:
        say(
            Text(
                "bonuses that Prolific was asked to pay and does not show: {n}; wait some minutes, "
                "and give --again if it never shows them",
                n=len(plan.unconfirmed),
            )
        )
    if plan.cents and not sent:
        _say_trial()


def _say_trial() -> None:
    say(Text("nothing was sent: give --yes"))
