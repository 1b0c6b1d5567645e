"""`merilo study serve | preview | invite | exclude | reinstate | erase | collect | backup`.

Collect answers on Merilo's own site.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from merilo.atomic_write import OWNER, refuse_unwritable, write_text
from merilo.cli.options import ArmOption, ForceOption, JsonOption, StudyArgument
from merilo.cli.output import check_places, deliver, say, show
from merilo.errors import UsageError
from merilo.wording import counted_noun

if TYPE_CHECKING:
    from merilo.site.served_study import ServedStudy

#: The page of the guide that a command's help names.
_SITE: Final = "Guide: docs/site.md"

app = typer.Typer(add_completion=False)

DatabaseOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The database: postgresql://user@host/name or sqlite:///file.db. Default: the environment "
        "variable MERILO_SITE_DATABASE, or site.db in the study's folder.",
    ),
]


def _warn_of_network(host: str, address: str, proxy: str) -> None:
    """Warn of answers that travel without encryption, and of an HTTPS address without a proxy."""
    here = host == "localhost" or host.startswith("127.") or host == "::1"
    if not here and not address.startswith("https://"):
        say(
            f"warning: on {host} answers and the author's link travel without encryption; put a reverse proxy with "
            "HTTPS in front of the site and give --address https://..."
        )
    if address.startswith("https://") and not proxy:
        say(
            "warning: --address begins with https, but --proxy names no reverse proxy: everybody seems to come from "
            "one address, and by HTTP; give --proxy ADDRESSES"
        )


@app.command(epilog=_SITE)
def serve(
    studies: Annotated[
        list[Path],
        typer.Argument(
            metavar="STUDY...",
            help="The study's folder; several studies share one database.",
            show_default=False,
        ),
    ],
    *,
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8000,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on; for people outside this computer, use a reverse proxy with HTTPS."
        ),
    ] = "127.0.0.1",
    proxy: Annotated[
        str,
        typer.Option(
            metavar="ADDRESSES",
            help="Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are "
            "believed; by default, none.",
        ),
    ] = "",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The public address of the site, such as https://study.example.org: requests for other names are "
            "refused, and links have it.",
        ),
    ] = None,
    database: DatabaseOption = None,
) -> int:
    """Serve frozen studies: people answer them in their browsers until Ctrl-C.

    Answers are saved in the database as they are given.
    """
    from merilo.site.serving import serve_study  # noqa: PLC0415 - the help needs no server

    _warn_of_network(host, address or "", proxy)
    serve_study(
        *studies,
        host=host,
        port=port,
        proxy=proxy,
        address=address,
        database=database,
        started=partial(_show_addresses, address),
    )
    show("the site has stopped; all answers that were acknowledged are in the database")
    return 0


@app.command(epilog=_SITE)
def preview(
    study: StudyArgument, *, port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 0
) -> int:
    """Take part in a study yourself, before or after the freeze, until Ctrl-C; nothing is stored."""
    from merilo.site.serving import preview_study  # noqa: PLC0415 - the help needs no server

    preview_study(study, port=port, started=_show_preview)
    show("the preview has ended; its answers are deleted")
    return 0


@app.command(epilog=_SITE)
def invite(
    study: StudyArgument,
    *,
    expert: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="An expert, who does not get items that they wrote; revokes an earlier link; may be given "
            "several times.",
        ),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DOMAIN", help="A domain whose items these experts get; may be given several times."
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="How many links without names to make.")] = 1,
    arm: ArmOption = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The public address of the site. Default: the address at which the site was served last.",
        ),
    ] = None,
    database: DatabaseOption = None,
) -> int:
    """Make personal links to a study. The database keeps only their hashes, so a link is shown once."""
    from merilo.site.serving import invite_to_site, served_address  # noqa: PLC0415 - the help needs no database

    links = invite_to_site(
        study,
        arm=arm,
        experts=tuple(expert or ()),
        domains=tuple(domain or ()),
        count=count,
        database=database,
    )
    address = address or served_address(study, database) or "http://127.0.0.1:8000"
    for name, path in links:
        sys.stdout.write(f"{name}{chr(9) if name else ''}{address.rstrip('/')}{path}\n")
    return 0


#: Why answers are not in the table of the site's answers.
_LEFT_OUT: Final = {
    "excluded": "of excluded people",
    "stopped": "of stopped people whom the baseline's rule would keep",
    "surplus": "beyond the overlap",
}

PersonArgument: TypeAlias = Annotated[
    str, typer.Argument(help="The pseudonym, or the platform's id, or the expert's name.")
]


@app.command(epilog=_SITE)
def exclude(
    study: StudyArgument,
    person: PersonArgument,
    *,
    reason: Annotated[str, typer.Option(help="Why; it is written into the audit log.")],
    database: DatabaseOption = None,
) -> int:
    """Exclude a person from a study on the site: their answers are not counted, and their items are given to others."""
    from merilo.site.serving import exclude_from_site  # noqa: PLC0415 - the help needs no database

    done = exclude_from_site(study, person, reason=reason, database=database)
    if done.changed:
        show(f"excluded; {counted_noun(done.places, 'item is', 'items are')} given to others")
    else:
        show("nothing changed: the person was excluded before")
    return 0


@app.command(epilog=_SITE)
def reinstate(study: StudyArgument, person: PersonArgument, *, database: DatabaseOption = None) -> int:
    """Reinstate an excluded person: their answers count again where the items have not been given to others."""
    from merilo.site.serving import reinstate_on_site  # noqa: PLC0415 - the help needs no database

    done = reinstate_on_site(study, person, database=database)
    if done.changed:
        again = counted_noun(done.answers, "answer counts", "answers count")
        show(f"reinstated; {again} again, {done.places} do not, because the items were given to others")
    else:
        show("nothing changed: the person is not excluded")
    return 0


@app.command(epilog=_SITE)
def erase(
    study: StudyArgument,
    person: PersonArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: DatabaseOption = None,
) -> int:
    """Erase a person from the site: id or name, links, answers, comments. Imported answers and exported tables stay."""
    from merilo.site.serving import erase_from_site  # noqa: PLC0415 - the help needs no database

    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("erasing cannot be undone: confirm it with --yes")
        question = "Erasing cannot be undone. Erase everything that the site knows about this person?"
        typer.confirm(question, abort=True)
    done = erase_from_site(study, person, database=database)
    answers = counted_noun(done.answers, "answer", "answers")
    show(f"erased, with {answers}; {counted_noun(done.places, 'item is', 'items are')} given to others")
    say(
        "answers that were imported into the study before, exported tables and backups still have the person's "
        "pseudonym and answers"
    )
    return 0


@app.command(epilog=_SITE)
def collect(
    study: StudyArgument,
    *,
    out: Annotated[Path, typer.Option(help="The new table (CSV) for 'merilo study import'.")],
    people: Annotated[
        Path | None,
        typer.Option(
            help="The new table (CSV) of the people of platforms: id there, code, stage, answers, seconds, control "
            "items, pay, bonus."
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(help="The new file (JSON) of counts of people, for 'merilo study import'."),
    ] = None,
    arm: ArmOption = None,
    database: DatabaseOption = None,
    force: ForceOption = False,
    json_to: JsonOption = None,
) -> int:  # fmt: skip
    """Write the answers of the site as a table for 'merilo study import', with pseudonyms. The site may be running."""
    from merilo.site.answer_export import collect_answers, paid_people, people_counts  # noqa: PLC0415 - an extra
    from merilo.site.journal import ServerClock, database_file  # noqa: PLC0415 - an extra
    from merilo.site.serving import read_site  # noqa: PLC0415 - an extra

    check_places([study, database_file(study, database)], json_to, out, people, counts, force=force)
    state = read_site(study, arm=arm, database=database)
    collected = collect_answers(state)
    write_text(out, collected.table, OWNER)
    if people is not None:
        write_text(people, paid_people(state), OWNER)
    if counts is not None:
        write_text(counts, people_counts(state, ServerClock().now()), OWNER)
    for reason, why in _LEFT_OUT.items():
        if number := collected.left_out[reason]:
            say(f"left out: {number} answers {why}")
    message = f"{out}: {collected.answers} answers of {collected.people} people"
    deliver(json_to, collected.to_dict, [message])
    return 0


@app.command(epilog=_SITE)
def backup(
    study: StudyArgument,
    *,
    out: Annotated[Path, typer.Option(help="The new file of the copy.")],
    database: DatabaseOption = None,
    force: ForceOption = False,
) -> int:
    """Copy the site's SQLite database while people answer. For PostgreSQL, use pg_dump."""
    from merilo.site.journal import database_file  # noqa: PLC0415 - the help needs no database
    from merilo.site.serving import back_up_site  # noqa: PLC0415 - the help needs no database

    check_places([study, database_file(study, database)], None, out, force=force)
    refuse_unwritable(out)
    back_up_site(study, out, database=database)
    show(f"{out}: copied")
    return 0


def _show_preview(address: str, studies: list[ServedStudy], _author: str) -> None:
    show(
        *(f"{study.arm_name}: {address}{study.path}" for study in studies),
        f"The preview is running at {address}; Ctrl-C ends it.",
    )
    sys.stdout.flush()


def _show_addresses(public: str | None, address: str, studies: list[ServedStudy], author: str) -> None:
    base = (public or address).rstrip("/")
    several = len({study.folder.path for study in studies}) > 1
    for study in studies:
        name = f"{study.folder.path}, {study.arm_name}" if several else study.arm_name
        how = ", by invitation" if study.by_invitation else "?worker_id=ID, or by invitation"
        show(f"{name}: {base}{study.path}{how} (merilo study invite)")
    show(
        f"the author's page: {base}{author} (whoever knows this link can do everything)",
        f"The site is running at {address}; Ctrl-C stops it.",
    )
    sys.stdout.flush()
