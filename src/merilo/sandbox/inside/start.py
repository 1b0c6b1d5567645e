"""How a worker comes up: it takes its place in the jail, warms up what every program needs, and serves.

Whatever is loaded or done here, every program's process inherits, for better and worse: what Python prepares once (its
parser's types, the caches of its methods) is there already, and each page of memory more makes each fork slower.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from merilo.sandbox.inside import fork_server, frames, harness, kernel
from merilo.sandbox.inside.scratch import Scratch
from merilo.sandbox.inside.server import Server

#: What programs import most.
COMMON_MODULES = (
    "bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "operator", "random", "re", "string",
    "typing",
)  # fmt: skip

_REHEARSALS = 20


def main() -> None:
    """Read the settings from standard input, take place, greet, and serve."""
    os.closerange(3, 64)  # what starts a worker may have left something open, for every program to find
    jobs, reports = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    settings: dict[str, Any] = json.loads(frames.read(jobs) or b"{}")
    if settings["processor"] is not None:
        with contextlib.suppress(OSError):  # it went away meanwhile
            os.sched_setaffinity(0, {settings["processor"]})
    calls = kernel.Kernel() if settings["jailed"] else None
    scratch = Scratch(settings["scratch"], settings["scratch_bytes"], calls)
    try:
        facts = enter(settings, calls, scratch)
    except OSError as error:
        frames.write(reports, json.dumps({"error": str(error)}).encode("ascii"))
        return
    warm_up(settings["packages"], forks=settings["forks"])
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    sys.path[:] = [path for path in sys.path if path not in ("", settings["home"])]
    server = Server(
        settings, jobs, reports, fork_server.ChildSetup(calls, settings["user"], settings["limits"]), scratch
    )
    frames.write(reports, json.dumps(facts).encode("ascii"))
    server.serve()


def enter(settings: dict[str, Any], calls: kernel.Kernel | None, scratch: Scratch) -> dict[str, object]:
    """Take the worker's place in the jail: namespaces of its own, an empty scratch, the filter.

    Args:
        settings: `covers`, `seal`, `filter` and `scratch` are used; see `merilo.sandbox.launch`.
        calls: the system calls for a jail; `None` without one.
        scratch: the folders that programs write to.

    Returns:
        What holds, for the greeting.

    Raises:
        OSError: something does not hold.
    """
    facts: dict[str, object] = {"python": "{}.{}.{}".format(*sys.version_info), "jailed": calls is not None}
    if calls is not None:
        facts["namespaces"] = _enter_namespaces(calls)
        calls.gain_no_privileges()
        facts["covered"] = _cover(settings["covers"], settings["scratch"][0], calls)
        for path in settings["seal"]:
            calls.seal(path)
        scratch.mount()
        if settings["filter"]:
            calls.install_filter(bytes.fromhex(settings["filter"]))
        facts["filter"] = bool(settings["filter"])
        facts["scratch"] = "mounted" if scratch.is_mounted else "swept"
    return facts


def _cover(covers: dict[str, list[str]], scratch: str, calls: kernel.Kernel) -> bool:
    """Hide folders that whoever started the worker could not leave out; whether that was allowed."""
    try:
        for path, kept in covers.items():
            if os.path.isdir(path):
                by_way_of = os.path.join(scratch, "cover")
                os.mkdir(by_way_of)
                calls.cover(path, kept, by_way_of)
                os.rmdir(by_way_of)
    except OSError:
        return False
    return True


def warm_up(packages: str | None, *, forks: bool) -> None:
    """Load what programs import, and do once what every program would have Python do for the first time.

    Args:
        packages: the folder of packages that programs may import, if any.
        forks: whether programs may fork.
    """
    with contextlib.nullcontext() if forks else _no_hooks_on_forks():
        for name in COMMON_MODULES:
            importlib.import_module(name)
    if packages:
        sys.path.append(packages)
    harness.provide_exit()
    # Python adapts a function to what it is asked, and writes that down, only after some calls.
    for _ in range(_REHEARSALS):
        harness.rehearse()


@contextlib.contextmanager
def _no_hooks_on_forks() -> Iterator[None]:
    """Keep `random` from seeding itself at every fork: each program is given its seed."""
    register = os.register_at_fork
    os.register_at_fork = lambda **_: None
    try:
        yield
    finally:
        os.register_at_fork = register


def _enter_namespaces(calls: kernel.Kernel) -> str:
    """Become the first process of a PID namespace that this worker owns, with mounts and shared memory of its own.

    Returns:
        "given" if whoever started the worker gave it the right to, "made" if it made a user namespace for it.
    """
    wanted = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    user, group = os.getuid(), os.getgid()
    try:
        calls.unshare(wanted)
        how = "given"
    except PermissionError:
        calls.unshare(wanted | kernel.CLONE_NEWUSER)
        maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
        for name, text in maps:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        how = "made"
    with contextlib.suppress(PermissionError):  # a container may forbid all mounting, and then keeps its own
        calls.keep_mounts_private()
    calls.hide()
    pid = os.fork()
    if pid:
        # The keeper: its end is the end of all.
        os.closerange(0, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    calls.die_with_parent()
    return how
