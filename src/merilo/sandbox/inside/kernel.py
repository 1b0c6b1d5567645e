"""System calls that the standard library lacks, bound once so that a forked child writes to few pages."""

from __future__ import annotations

import ctypes
import os
import signal

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x2008_0522
_MS_NOSUID_NODEV_NOATIME = 2 | 4 | 1024
_MS_REMOUNT_BIND_RDONLY = 32 | 4096 | 1
_MS_NOEXEC = 8
_MS_RELATIME = 1 << 21
_MS_BIND = 4096
_MS_MOVE = 8192
_MS_PRIVATE_ALL = 0x4000 | 0x4_0000
_MNT_DETACH = 2


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


class Kernel:
    """System calls, which raise `OSError` if they fail."""

    def __init__(self) -> None:
        # PyDLL keeps the GIL during the call: `clone` must return in the thread that holds it.
        self._libc = ctypes.PyDLL(None, use_errno=True)
        self._syscall = self._libc.syscall
        self._syscall.restype = ctypes.c_long
        self._syscall.argtypes = [ctypes.c_long] * 6
        self._capset = self._libc.capset
        self._no_capabilities = (
            ctypes.byref(_CapabilityHeader(_CAPABILITY_VERSION_3, 0)),
            (ctypes.c_uint32 * 6)(),
        )
        self._clone_number = _SYS_CLONE.get(os.uname().machine)
        self._before_fork = ctypes.pythonapi.PyOS_BeforeFork
        self._after_fork_parent = ctypes.pythonapi.PyOS_AfterFork_Parent
        self._after_fork_child = ctypes.pythonapi.PyOS_AfterFork_Child
        for function in (self._before_fork, self._after_fork_parent, self._after_fork_child):
            function.restype = None

    def fork_into_new_pid_namespace(self) -> int:
        """Fork as `os.fork` does, with the child as process 1 of a new PID namespace, which ends with it.

        This calls `clone` and not `unshare` before `fork` for two reasons: a process can `unshare` its PID
        namespace only once; and the filter can then forbid every fork except this call, which the kernel
        refuses to a process without the capability.
        """
        if self._clone_number is None:
            raise OSError(f"no number is known for clone on {os.uname().machine}")
        self._before_fork()
        pid = int(self._syscall(self._clone_number, CLONE_NEWPID | signal.SIGCHLD, 0, 0, 0, 0))
        if pid == 0:
            self._after_fork_child()
            return 0
        error = ctypes.get_errno()
        self._after_fork_parent()
        if pid < 0:
            raise OSError(error, os.strerror(error))
        return pid

    def unshare(self, flags: int) -> None:
        """Move this process to new namespaces of the kinds in `flags`."""
        self._do("unshare", flags)

    def keep_mounts_private(self) -> None:
        """Keep later mounts of this mount namespace from propagating to other namespaces."""
        self._do("mount", None, b"/", None, _MS_PRIVATE_ALL, None)

    def mount_scratch(self, path: str, size: int, files: int) -> None:
        """Mount an empty tmpfs on `path`, limited to `size` bytes and `files` files."""
        options = f"size={size},nr_inodes={files},mode=1777".encode()
        self._do("mount", b"tmpfs", path.encode(), b"tmpfs", _MS_NOSUID_NODEV_NOATIME, options)

    def cover(self, path: str, visible: list[str], by_way_of: str) -> None:
        """Mount a read-only folder over an existing one that shows only some of its entries.

        Args:
            path: the folder.
            visible: paths below it that stay visible; a folder among them appears empty.
            by_way_of: an empty writable folder, used as a temporary mount point.
        """
        self._do(
            "mount", b"tmpfs", by_way_of.encode(), b"tmpfs", _MS_NOSUID_NODEV_NOATIME, b"size=64k,mode=755"
        )
        for old in visible:
            new = f"{by_way_of}{old[len(path) :]}"
            if os.path.isdir(old):
                os.mkdir(new)
            elif os.path.exists(old):
                os.close(os.open(new, os.O_CREAT | os.O_WRONLY))
                self._do("mount", old.encode(), new.encode(), None, _MS_BIND, None)
        self._do("mount", by_way_of.encode(), path.encode(), None, _MS_MOVE, None)
        self.seal(path)

    def seal(self, path: str) -> None:
        """Make a mount read-only: a device can still be written to.

        But the mode and times of its file cannot be changed.

        The present flags of the mount are passed again, because the kernel refuses to clear them.
        """
        has = os.statvfs(path).f_flag
        flags = has & (_MS_NOSUID_NODEV_NOATIME | _MS_NOEXEC) | (_MS_RELATIME if has & os.ST_RELATIME else 0)
        self._do("mount", None, path.encode(), None, _MS_REMOUNT_BIND_RDONLY | flags, None)

    def unmount(self, path: str) -> None:
        """Unmount `path`, even if it is still in use."""
        self._do("umount2", path.encode(), _MNT_DETACH)

    def drop_capabilities(self) -> None:
        """Give up all capabilities permanently."""
        if self._capset(*self._no_capabilities):
            raise OSError(ctypes.get_errno(), "capset")

    def gain_no_privileges(self) -> None:
        """Set `no_new_privs`: programs executed later get no more privileges than this process has."""
        self._do("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)

    def hide(self) -> None:
        """Make this process and its children undumpable.

        This hides their `/proc/PID` from other processes of the user.
        """
        self._do("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)

    def die_with_parent(self) -> None:
        """Have the kernel send SIGKILL to this process when its parent ends."""
        self._do("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)

    def install_filter(self, instructions: bytes) -> None:
        """Install a seccomp filter permanently for this process and its children."""
        buffer = ctypes.create_string_buffer(instructions, len(instructions))
        program = _FilterProgram(len(instructions) // 8, ctypes.cast(buffer, ctypes.c_void_p))
        self._do("prctl", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)

    def _do(self, name: str, *arguments: object) -> None:
        if getattr(self._libc, name)(*arguments) < 0:
            error = ctypes.get_errno()
            raise OSError(error, f"{name}: {os.strerror(error)}")
