"""The system call filter is run by a small interpreter, an oracle for the assembly on both architectures."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.sandbox import seccomp

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}


def run(program: bytes, number: int, architecture: int, *arguments: int) -> int:
    """What the kernel does with a filter, for a system call with these arguments."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    code = [struct.unpack_from("=HBBI", program, offset) for offset in range(0, len(program), 8)]
    accumulator, position = 0, 0
    while True:
        operation, if_true, if_false, value = code[position]
        position += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif operation == 0x06:
            return value
        else:
            holds = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }
            position += if_true if holds[operation] else if_false


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def ask(machine: str, number: int, *arguments: int, several: bool = False) -> int:
    program = seccomp.filter_for(several_processes=several, machine=machine)
    return run(program, number, ARCHITECTURES[machine], *arguments)


@pytest.mark.parametrize(
    "name", ["socket", "ptrace", "bpf", "unshare", "setns", "memfd_create", "keyctl", "execve"]
)
def test_what_leads_outside_is_refused(machine: str, name: str) -> None:
    numbers = {
        "socket": (41, 198), "ptrace": (101, 117), "bpf": (321, 280), "unshare": (272, 97), "setns": (308, 268),
        "memfd_create": (319, 279), "keyctl": (250, 219), "execve": (59, 221),
    }  # fmt: skip
    assert ask(machine, numbers[name][machine == "aarch64"]) == ERRNO | errno.EPERM


def test_another_architecture_ends_the_process(machine: str) -> None:
    program = seccomp.filter_for(several_processes=False, machine=machine)
    assert run(program, 0, 0x40000003) == KILL


def test_of_clone_a_program_has_threads_alone(machine: str) -> None:
    thread, child, worker = 0x3D0F00, 17, 0x20000000 | 17
    assert ask(machine, CLONE[machine], thread) == ALLOW
    assert ask(machine, CLONE[machine], worker) == ALLOW  # the kernel refuses it to whoever has no capability
    assert ask(machine, CLONE[machine], child) == ERRNO | errno.EPERM
    assert ask(machine, CLONE[machine], child, several=True) == ALLOW
    assert ask(machine, 435) == ERRNO | errno.ENOSYS


@given(flags=st.integers(0, 2**32 - 1), several=st.booleans())
def test_no_form_of_clone_makes_a_namespace_but_the_workers_own(flags: int, several: bool) -> None:
    namespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
    if flags & namespaces and flags != 0x20000000 | 17:
        assert ask("x86_64", 56, flags, several=several) == ERRNO | errno.EPERM


@given(number=st.integers(463, 2**32 - 1))
def test_what_later_kernels_bring_and_the_32_bit_numbers_on_x86_64_do_not_exist(number: int) -> None:
    assert ask("x86_64", number) == ERRNO | errno.ENOSYS


@given(number=st.integers(0, 470), domain=st.integers(0, 50))
def test_a_socket_pair_is_local(number: int, domain: int) -> None:
    assert (ask("x86_64", 53, domain) == ALLOW) == (domain == 1)


@given(command=st.integers(0, 2000))
def test_no_file_is_leased_and_no_folder_watched(command: int) -> None:
    for machine, number in {"x86_64": 72, "aarch64": 25}.items():
        allowed = ask(machine, number, 3, command) == ALLOW
        assert allowed == (command in {*range(8), 1030, 1032})


@given(flags=st.integers(0, 2**32 - 1))
def test_memory_is_shared_only_by_way_of_a_file(flags: int) -> None:
    for machine, number in {"x86_64": 9, "aarch64": 222}.items():
        refused = ask(machine, number, 0, 4096, 3, flags) == ERRNO | errno.EPERM
        assert refused == bool(flags & 0x01 and flags & 0x20)


def test_nothing_is_synced_and_nobody_is_told(machine: str) -> None:
    numbers = {"fsync": (74, 82), "fdatasync": (75, 83), "msync": (26, 227)}
    assert {ask(machine, pair[machine == "aarch64"]) for pair in numbers.values()} == {ERRNO}


@given(flags=st.integers(0, 2**32 - 1))
def test_no_byte_is_sent_out_of_turn(flags: int) -> None:
    for machine, (sendto, sendmsg) in {"x86_64": (44, 46), "aarch64": (206, 211)}.items():
        expected = ERRNO | errno.EPERM if flags & 1 else ALLOW
        assert ask(machine, sendto, 3, 0, 1, flags) == ask(machine, sendmsg, 3, 0, flags) == expected


@given(command=st.integers(0x5400, 0x5500))
def test_no_terminal_is_typed_into(command: int) -> None:
    """Of `ioctl`: what a terminal is like, how much waits to be read, and flags of a descriptor."""
    for machine, number in {"x86_64": 16, "aarch64": 29}.items():
        allowed = ask(machine, number, 0, command) == ALLOW
        assert allowed == (command in {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451})


@given(option=st.integers(0, 80))
def test_a_process_sets_its_name_and_nothing_else_of_itself(option: int) -> None:
    for machine, number in {"x86_64": 157, "aarch64": 167}.items():
        assert (ask(machine, number, option) == ALLOW) == (option in {15, 16})


def test_processes_may_be_several_only_if_told_so(machine: str) -> None:
    execve = {"x86_64": 59, "aarch64": 221}[machine]
    assert ask(machine, execve, several=True) == ALLOW
    assert ask(machine, execve) == ERRNO | errno.EPERM


def test_an_unknown_architecture_gets_no_filter() -> None:
    assert seccomp.filter_for(several_processes=False, machine="abacus") == b""
