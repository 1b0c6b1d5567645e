"""How a worker comes up, and what every program's process inherits from it."""

import ast
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_arena import asked, jail_or_skip, jailed, only, unjailed

import merilo
from merilo.sandbox.backends import ENVIRONMENT, NoJail
from merilo.sandbox.inside import messages
from merilo.sandbox.interpreter import interpreter
from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Limits, Outcome, Program

SOURCES = Path(merilo.__file__).parent.parent

#: A line for each process that forks: what `random` gives in the parent, and in the child.
RANDOM_IN_A_FORK = """
import os, random
def attack():
    reading, writing = os.pipe()
    if not os.fork():
        os.write(writing, repr(random.random()).encode())
        os._exit(0)
    os.wait()
    return [random.random(), float(os.read(reading, 100))]
"""


@pytest.mark.parametrize("jail", [True, False], ids=["jailed", "without a jail"])
def test_every_worker_keeps_to_a_processor_of_its_own_where_each_has_one(jail: bool) -> None:
    processors = os.sched_getaffinity(0)
    backend = jail_or_skip() if jail else NoJail(interpreter())
    with Pool(len(processors), backend=backend) as pool:
        programs = [
            asked(
                "(__import__('time').sleep(0.05), sorted(__import__('os').sched_getaffinity(0)))[1]", str(n)
            )
            for n in range(4 * len(processors))
        ]
        seen = {execution.texts[0] for execution in pool.run(programs)}
    assert seen == {str([processor]) for processor in processors}


def test_fewer_workers_than_processors_run_wherever_there_is_room() -> None:
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) == 1:
        pytest.skip("this machine has one processor")
    with unjailed() as pool:
        answer = only(pool, "import os\ndef attack():\n    return sorted(os.sched_getaffinity(0))")
    assert answer.texts == (str(processors),)


def test_random_is_seeded_by_the_program_alone_and_anew_in_what_it_forks(
    pool: Pool, roomy_pool: Pool
) -> None:
    seeded = "import random\ndef attack():\n    return random.random(), list({'a', 'b', 'c', 'd'})"
    programs = [Program(str(seed), seeded, "attack", ({},), seed=seed) for seed in (0, 1, 0, 1)]
    texts = [execution.texts for execution in sorted(pool.run(programs), key=lambda one: one.id)]
    assert texts[0] == texts[1] != texts[2] == texts[3]
    ours, childs = eval(only(roomy_pool, RANDOM_IN_A_FORK).texts[0] or "")
    assert ours != childs


@pytest.mark.parametrize("jail", [True, False], ids=["jailed", "without a jail"])
def test_nothing_of_merilos_environment_reaches_a_program(
    jail: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever scores a model has the keys to it in the environment."""
    monkeypatch.setenv("MERILO_TEST_API_KEY", "a secret")
    known = {*ENVIRONMENT, "PYTHONPATH", "PWD", "TMPDIR", "LC_CTYPE"}
    source = (
        "import ctypes, os\nreal = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "def attack():\n    names, number = set(os.environ), 0\n    while real[number]:\n"
        "        names.add(real[number].decode().partition('=')[0])\n        number += 1\n    return sorted(names)"
    )
    with jailed() if jail else unjailed() as pool:
        found = set(ast.literal_eval(only(pool, source).texts[0] or ""))
    assert {"HOME", "LANG"} <= found <= known


def test_a_program_does_not_find_its_neighbours_source_in_what_it_inherits() -> None:
    """Neither in call mode nor in check mode does the process that it is forked from ever see a program."""
    mark = "MARKED" + "ab" * 13
    leaving = f"# {mark}\ndef attack():\n    return 1"
    looking = (
        "import gc, sys\ndef attack():\n    frame, seen = sys._getframe(), []\n"
        "    while frame:\n        seen += [repr(value) for value in frame.f_locals.values()]\n        frame = frame.f_back\n"
        "    seen += [repr(thing) for thing in gc.get_objects() if isinstance(thing, (list, tuple, dict))]\n"
        "    wanted = ''.join(['MARKED', 'ab' * 13])\n"
        "    return sum(wanted in text for text in seen)"
    )
    with jailed() as pool:
        for tests in (({},), Check("def check(c):\n    assert c() == 1")):
            assert only(pool, leaving, tests).outcome is Outcome.COMPLETED
            assert only(pool, looking).texts == ("0",)


THREADS = Limits().threads

#: What every program finds -> the program, and what it answers, in a jail and without.
FOUND = {
    "nothing of what the worker rehearsed": (
        "import gc, random, sys\nfirst = random.random()\n"
        "def attack():\n"
        "    names = {getattr(thing, '__name__', '') for thing in gc.get_objects() if callable(thing)}\n"
        "    return 'rehearsed' in names, 'rehearsed' in vars(sys.modules['program']), first == random.Random(0).random(), gc.isenabled()",
        "(False, False, True, True)", "(False, False, True, True)"),
    # Not the worker's own folder, and not the one where a program before it may have written.
    "the standard library alone": (
        "import os, sys\ndef attack():\n    known = sys.base_prefix, os.path.dirname(os.__file__)\n    return [path for path in sys.path if not path.startswith(known)]",
        "[]", "[]"),
    "no package that is installed for Merilo": (
        "import glob, os\ndef attack():\n    found = []\n    for name in ('numpy', 'merilo.errors'):\n"
        "        try:\n            found.append(__import__(name))\n        except ModuleNotFoundError:\n            pass\n"
        "    for folder in ('site-packages', 'dist-packages'):\n"
        "        for place in (os.path.dirname(os.__file__), '/usr/lib/python3*', '/usr/local/lib/python3*'):\n"
        "            found += glob.glob(f'{place}/{folder}/*')\n    return found",
        "[]", None),
    # Each that allocates would be given an arena of its own by the C library, of addresses enough for a whole program.
    "room for all threads that it may have": (
        f"import threading\nall_here = threading.Barrier({THREADS})\nfound = []\n"
        "def run(number):\n    all_here.wait()\n    found.append(len(str([number] * 10_000)))\n    all_here.wait()\n"
        f"def attack():\n    threads = [threading.Thread(target=run, args=(number,)) for number in range({THREADS})]\n"
        "    for thread in threads:\n        thread.start()\n    for thread in threads:\n        thread.join()\n    return len(found)",
        str(THREADS), str(THREADS)),
    # Of a limit of none, a kernel that passes cores to a program takes no notice.
    "a core of one byte": ("import resource\ndef attack():\n    return resource.getrlimit(resource.RLIMIT_CORE)", "(1, 1)", "(1, 1)"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "jailed_answer", "answer"), FOUND.values(), ids=FOUND)
def test_every_program_finds(
    source: str, jailed_answer: str, answer: str | None, pool: Pool, open_pool: Pool
) -> None:
    assert only(pool, source).texts == (jailed_answer,)
    assert answer is None or only(open_pool, source).texts == (answer,)


@given(st.lists(st.binary(max_size=9000), max_size=6), st.integers(0, 60_000))
def test_whole_messages_are_taken_and_what_was_cut_waits(sent: list[bytes], size: int) -> None:
    arrived = b"".join(map(messages.frame, sent))[:size]
    data = bytearray(arrived)
    found = messages.split(data)
    assert found == sent[: len(found)]
    assert b"".join(map(messages.frame, found)) + data == arrived
    assert sent[len(found) :] == [] or len(data) < len(messages.frame(sent[len(found)]))


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (b"\x05", "cut off"),
        (b"\x05\0\0\0abc", "cut off"),
        (b"\x05\0\0\0", "cut off"),
        (b"\xff\0\0\0", "255 bytes, but only 100"),
    ],
)
def test_a_message_that_is_cut_off_or_too_long_is_refused(sent: bytes, complaint: str) -> None:
    reading, writing = os.pipe()
    os.write(writing, messages.frame(b"first") + sent)
    os.close(writing)
    assert messages.read(reading, 100) == b"first"
    with pytest.raises(messages.BrokenFrameError, match=complaint):
        messages.read(reading, 100)
    os.close(reading)


def test_a_worker_takes_many_programs_with_the_tightest_limits() -> None:
    """The limits are the program's: the process that starts it works on under them."""
    limits = Limits(wall_seconds=5, open_files=8, file_bytes=1, threads=0, scratch_bytes=4096)
    with Pool(1, backend=jail_or_skip(), limits=limits) as pool:
        programs = [asked(str(number), str(number)) for number in range(200)]
        assert sorted(int(execution.texts[0] or "") for execution in pool.run(programs)) == list(range(200))
