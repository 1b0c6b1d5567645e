"""User ids for the programs of a pool that root runs.

An ordinary user's jail maps only that user. If root's jail did the same, it would map root, who owns the machine's files and to whom
the kernel's limit on processes does not apply. So root's jail gets a user namespace with its own block of ids, created
here: one id for each worker, which no account of the machine has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from merilo.errors import MissingPartError

#: Above the ranges of ids that distributions assign to users and containers.
FIRST_ID: Final = 1_835_363_696
IDS: Final = 4096

#: A separate process creates the namespace, because `unshare` affects its caller and forking this process is unsafe if it
#: has threads. The separate process forbids nested user namespaces, and waits for a line of input before it ends.
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
    """A user namespace in which id 0 is this machine's root without privileges outside, and ids from 1 belong to no account.

    Attributes:
        descriptor: an open descriptor of the namespace.

    Raises:
        MissingPartError: the kernel refuses to create user namespaces.
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
                raise MissingPartError(
                    f"the kernel refuses to create user namespaces for the sandbox ({error})"
                ) from error

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
        """Return the id, inside the namespace, for the programs of the worker with this number."""
        return 1 + number % IDS

    def close(self) -> None:
        """Close the descriptor; the namespace exists until the last jail in it ends."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
