"""Start of a worker: it sets up its part of the jail, loads what programs need, and runs jobs.

Every program's process inherits what is loaded here. This saves it one-time work of Python (the parser's types, method
caches), but each additional page of memory makes each fork slower.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from merilo.sandbox.inside import fork_server, framing, harness, kernel
from merilo.sandbox.inside.scratch import Scratch
from merilo.sandbox.inside.server import Server

#: The modules that programs import most often.
COMMON_MODULES = (
    "bisect", "collections", "copy", "functools", "heapq", "itertools", "math", "operator", "random", "re", "string",
    "typing",
)  # fmt: skip

_REHEARSALS = 20


def main() -> None:
    """Read the settings from standard input, set up the jail, send the greeting, and run jobs."""
    os.closerange(3, 64)  # descriptors left open by the parent would be open in every program
    jobs, reports = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    settings: dict[str, Any] = json.loads(framing.read(jobs) or b"{}")
    if settings["processor"] is not None:
        with contextlib.suppress(OSError):  # the processor has gone offline
            os.sched_setaffinity(0, {settings["processor"]})
    calls = kernel.Kernel() if settings["jailed"] else None
    scratch = Scratch(settings["scratch"], settings["scratch_bytes"], calls)
    try:
        facts = enter(settings, calls, scratch)
    except OSError as error:
        framing.write(reports, json.dumps({"error": str(error)}).encode("ascii"))
        return
    warm_up(settings["packages"], forks=settings["forks"])
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    sys.path[:] = [path for path in sys.path if path not in ("", settings["home"])]
    server = Server(
        settings, jobs, reports, fork_server.ChildSetup(calls, settings["user"], settings["limits"]), scratch
    )
    framing.write(reports, json.dumps(facts).encode("ascii"))
    server.serve()


def enter(settings: dict[str, Any], calls: kernel.Kernel | None, scratch: Scratch) -> dict[str, object]:
    """Set up the worker's part of the jail: its own namespaces, empty scratch folders, the filter.

    Args:
        settings: `covers`, `seal`, `filter` and `scratch` are used; see `merilo.sandbox.backends`.
        calls: the system calls for a jail; `None` without one.
        scratch: the folders that programs write to.

    Returns:
        Facts about the jail, for the greeting.

    Raises:
        OSError: a part of the jail cannot be set up.
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
    """Hide folders that the backend could not leave out of the jail; return whether mounting was allowed."""
    try:
        for path, visible in covers.items():
            if os.path.isdir(path):
                by_way_of = os.path.join(scratch, "cover")
                os.mkdir(by_way_of)
                calls.cover(path, visible, by_way_of)
                os.rmdir(by_way_of)
    except OSError:
        return False
    return True


def warm_up(packages: str | None, *, forks: bool) -> None:
    """Import common modules, and run the harness until Python has filled its caches.

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
    # Since 3.12, the first seed that is a text imports SHA-512; a judge with little memory left could not.
    sys.modules["random"].Random("")
    # Python specializes the bytecode of a function only after several calls.
    for _ in range(_REHEARSALS):
        harness.rehearse()


@contextlib.contextmanager
def _no_hooks_on_forks() -> Iterator[None]:
    """Keep `random` from reseeding itself at every fork: the harness seeds it for each program."""
    register = os.register_at_fork
    os.register_at_fork = lambda **_: None
    try:
        yield
    finally:
        os.register_at_fork = register


def _enter_namespaces(calls: kernel.Kernel) -> str:
    """Become process 1 of a new PID namespace, with new mount and IPC namespaces.

    Returns:
        "given" if the backend gave the worker the privilege, "made" if the worker had to create a user namespace.
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
    with contextlib.suppress(PermissionError):  # a container may forbid all mounting
        calls.keep_mounts_private()
    calls.hide()
    pid = os.fork()
    if pid:
        # The init process only waits: when it ends, the kernel kills the worker and its programs.
        os.closerange(0, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    calls.die_with_parent()
    return how
