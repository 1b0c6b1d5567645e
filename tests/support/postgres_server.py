"""A PostgreSQL server for the tests alone: its own folder, a socket of its own and no network.

Debian's own cluster is neither used nor touched. The server runs as an unprivileged user, because PostgreSQL refuses root.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

#: The databases' owner, who needs no password on the socket.
OWNER = "merilo"

_PATIENCE = 60
_SETTINGS = ("listen_addresses=", "fsync=off", "max_connections=60", "shared_buffers=32MB", "autovacuum=off")


class PostgresServer:
    """A running server.

    Args:
        commands: the folder of `initdb` and `pg_ctl`.
        folder: a new folder, which the server's user owns.
        user: the user of the server; `None` for this process's own.
    """

    def __init__(self, commands: Path, folder: Path, user: str | None) -> None:
        self._commands = commands
        self.folder = folder
        self._user = user
        self._numbers = itertools.count(1)
        self._run(
            "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", f"--username={OWNER}",
            f"--pgdata={self._data}",
        )  # fmt: skip

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Start the server; it accepts connections when this returns."""
        settings = (*_SETTINGS, f"unix_socket_directories={self.folder}")
        options = " ".join(f"-c {setting}" for setting in settings)
        self._control("start", f"--log={self.folder / 'log'}", f"--options={options}")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server by its process id.

        Args:
            mode: "fast" ends the connections in order; "immediate" ends them as a crash does.
        """
        self._control("stop", f"--mode={mode}")

    def is_running(self) -> bool:
        """Whether the server's process is there."""
        return (self._data / "postmaster.pid").exists()

    def address(self, database: str) -> str:
        """Return the address of a database as `--database` takes it."""
        return f"postgresql://{OWNER}@/{database}?host={self.folder}"

    def new_database(self, template: str = "template1") -> str:
        """Make a database and return its address."""
        name = f"d{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.address(name)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement of an administrator and return its rows."""
        import psycopg

        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def _control(self, order: str, *words: str) -> None:
        self._run("pg_ctl", order, f"--pgdata={self._data}", "--wait", *words)

    def _run(self, command: str, *words: str) -> None:
        said = self.folder / "said"
        with said.open("wb") as output:  # a pipe would be held open by the server, which inherits it
            done = subprocess.run(
                [self._commands / command, *words],
                cwd=self.folder,
                user=self._user,
                group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
                extra_groups=None if self._user is None else [],
                env={**os.environ, "HOME": str(self.folder), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_PATIENCE,
                check=False,
            )
        if done.returncode:
            raise RuntimeError(f"{command} failed: {said.read_text()}")


def why_missing() -> str | None:
    """Return why there can be no server; `None` if there can."""
    if sys.platform == "win32":
        return "the tests start PostgreSQL on Unix only"
    if find_spec("psycopg") is None:
        return "psycopg is not installed (the extra 'postgres')"
    if _commands() is None:
        return "PostgreSQL is not installed (Debian's package postgresql)"
    if os.geteuid() == 0 and _unprivileged() is None:
        return "PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'"
    return None


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server for the length of a block; the test is skipped where there can be none."""
    reason = why_missing()
    if reason is not None:
        pytest.skip(reason)
    commands = _commands()
    assert commands is not None
    user = _unprivileged() if os.geteuid() == 0 else None
    # Not below the folder of pytest, which other users cannot enter; the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="merilo-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        server = PostgresServer(commands, folder, user)
        server.start()
        try:
            yield server
        finally:
            if server.is_running():
                server.stop("immediate")


def _commands() -> Path | None:
    """The folder of PostgreSQL's commands, of the newest version that is installed."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    known = [*reversed(debian), *([Path(on_path).resolve()] if on_path else [])]
    return next((path.parent for path in known if (path.parent / "pg_ctl").exists()), None)


def _unprivileged() -> str | None:
    known = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)
