"""User ids for the programs of a pool that root runs.

An ordinary user's jail maps that one user. Root's would map root, whom the kernel excuses from its limit on processes
and who owns the machine's files. So root's jail gets a user namespace with a block of ids of its own, made here: one id
for every worker, none of which anybody on the machine has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from merilo.errors import MissingPartError

#: Above the blocks that distributions give to users and containers.
FIRST_ID: Final = 1_835_363_696
IDS: Final = 4096

#: A process of its own makes the namespace: `unshare` concerns the caller, and forking this process, with whatever
#: threads it has, would be unsound. It forbids further user namespaces below, and waits to be let go.
_MAKER: Final = """
import ctypes, sys
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
    sys.exit("unshare: error %d" % ctypes.get_errno())
print(flush=True)
sys.stdin.readline()
try:
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
except OSError:
    pass
print(flush=True)
sys.stdin.readline()
"""


class RootsNamespace:
    """A user namespace in which 0 is root of this machine, without any right outside, and 1 and up are nobody.

    Attributes:
        descriptor: an open descriptor of it.

    Raises:
        MissingPartError: the kernel does not make user namespaces.
    """

    def __init__(self) -> None:
        with subprocess.Popen(  # noqa: S603 - our own interpreter and the text above
            [sys.executable, "-I", "-S", "-c", _MAKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as maker:
            try:
                self.descriptor = self._made_by(maker)
            except OSError as error:
                raise MissingPartError(f"this kernel makes no user namespaces for jails ({error})") from error

    def _made_by(self, maker: subprocess.Popen[bytes]) -> int:
        assert maker.stdin is not None  # noqa: S101 - both are pipes
        assert maker.stdout is not None  # noqa: S101 - as above
        if not maker.stdout.readline():
            raise OSError("unshare was refused")
        process = Path("/proc") / str(maker.pid)
        for name in ("uid_map", "gid_map"):
            (process / name).write_text(f"0 0 1\n1 {FIRST_ID} {IDS}\n")
        maker.stdin.write(b"\n")
        maker.stdin.flush()
        maker.stdout.readline()
        descriptor = os.open(process / "ns" / "user", os.O_RDONLY | os.O_CLOEXEC)
        maker.stdin.write(b"\n")
        maker.stdin.flush()
        return descriptor

    def user(self, number: int) -> int:
        """The id, inside, for the programs of the worker of this number."""
        return 1 + number % IDS

    def close(self) -> None:
        """Let the namespace go; jails that run in it keep it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
