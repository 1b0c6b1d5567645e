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


def test_another_architecture_ends_the_process_and_an_unknown_one_gets_no_filter(machine: str) -> None:
    program = seccomp.filter_for(several_processes=False, machine=machine)
    assert run(program, 0, 0x40000003) == KILL
    assert seccomp.filter_for(several_processes=False, machine="abacus") == b""


def test_of_clone_a_program_has_threads_alone(machine: str) -> None:
    thread, child, worker = 0x3D0F00, 17, 0x20000000 | 17
    assert ask(machine, CLONE[machine], thread) == ALLOW
    assert ask(machine, CLONE[machine], worker) == ALLOW  # the kernel refuses it to whoever has no capability
    assert ask(machine, CLONE[machine], child) == ERRNO | errno.EPERM
    execve = {"x86_64": 59, "aarch64": 221}[machine]
    for number, argument in ((CLONE[machine], child), (execve, 0)):
        assert ask(machine, number, argument, several=True) == ALLOW
    assert ask(machine, 435) == ERRNO | errno.ENOSYS


@given(flags=st.integers(0, 2**32 - 1), several=st.booleans())
def test_no_form_of_clone_makes_a_namespace_but_the_workers_own(flags: int, several: bool) -> None:
    namespaces = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
    if flags & namespaces and flags != 0x20000000 | 17:
        assert ask("x86_64", 56, flags, several=several) == ERRNO | errno.EPERM


@given(number=st.integers(463, 2**32 - 1))
def test_what_later_kernels_bring_and_the_32_bit_numbers_on_x86_64_do_not_exist(number: int) -> None:
    assert ask("x86_64", number) == ERRNO | errno.ENOSYS


#: What is allowed of a call: its numbers, the place of the argument that decides, the values to try, and which it may have.
RULES = {
    "a socket pair is local": ((53, 199), 0, st.integers(0, 50), lambda domain: domain == 1),
    "no file is leased and no folder watched": (
        (72, 25), 1, st.integers(0, 2000), lambda command: command in {*range(8), 1030, 1032}),
    "memory is shared only by way of a file": (
        (9, 222), 3, st.integers(0, 2**32 - 1), lambda flags: not (flags & 0x01 and flags & 0x20)),
    "no byte is sent out of turn": ((44, 206), 3, st.integers(0, 2**32 - 1), lambda flags: not flags & 1),
    "nor in a message": ((46, 211), 2, st.integers(0, 2**32 - 1), lambda flags: not flags & 1),
    # Of `ioctl`: what a terminal is like, how much waits to be read, and flags of a descriptor.
    "no terminal is typed into": (
        (16, 29), 1, st.integers(0x5400, 0x5500), lambda command: command in {0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451}),
    "a process sets its name and nothing else of itself": ((157, 167), 0, st.integers(0, 80), lambda option: option in {15, 16}),
}  # fmt: skip


@pytest.mark.parametrize(("numbers", "place", "values", "may"), RULES.values(), ids=RULES)
@given(data=st.data())
def test_an_argument_decides(numbers, place, values, may, data) -> None:
    value = data.draw(values)
    for machine, number in zip(ARCHITECTURES, numbers, strict=True):
        expected = ALLOW if may(value) else ERRNO | errno.EPERM
        assert ask(machine, number, *[3] * place, value) == expected


def test_nothing_is_synced_and_nobody_is_told(machine: str) -> None:
    numbers = {"fsync": (74, 82), "fdatasync": (75, 83), "msync": (26, 227)}
    assert {ask(machine, pair[machine == "aarch64"]) for pair in numbers.values()} == {ERRNO}
