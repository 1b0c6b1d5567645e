"""Attacks on the verdict: a wrong program that wants to pass, and a program that wants to spoil another's result.

A naive executor, which runs the program and its test in one process, shows that these attacks are real.
"""

import hashlib
import os
import random
import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from sandbox_arena import asked, is_healthy, jailed, only

from merilo.sandbox.pool import Pool
from merilo.sandbox.program import Check, Limits, Outcome, Program


@dataclass(frozen=True)
class Forgery:
    """A program whose `attack` is wrong.

    Attributes:
        name: how it tries to pass.
        source: the program.
        fools: whether it passes where program and test share a process.
    """

    name: str
    source: str
    fools: bool = True


#: Writes to every descriptor but the first three, before anything is asked.
TO_ALL_DESCRIPTORS = """
import json, os, struct
def say(*messages):
    for descriptor in range(3, 300):
        for message in messages:
            try:
                os.write(descriptor, struct.pack("<I", len(message)) + message)
            except OSError:
                pass
def attack():
    return "wrong"
"""

#: Takes every string constant that it can find in the code of its callers, or of anybody.
FROM_FRAMES = """
import sys
def constants(code):
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif hasattr(constant, "co_consts"):
            yield from constants(constant)
def attack():
    frame = sys._getframe(1)
    while frame:
        for text in constants(frame.f_code):
            if text.startswith("GOLD") and len(text) == 36:
                return text
        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
            if isinstance(value, (str, bytes, bytearray, memoryview)):
                text = value if isinstance(value, str) else bytes(value).decode("latin-1")
                if "GOLD" in text:
                    return text[text.index("GOLD"):][:36]
        frame = frame.f_back
"""

FROM_THE_COLLECTOR = """
import gc
def attack():
    for thing in gc.get_objects():
        code = getattr(thing, "__code__", None)
        for constant in getattr(code, "co_consts", ()):
            if isinstance(constant, str) and constant.startswith("GOLD") and len(constant) == 36:
                return constant
"""

#: Searches its own memory without being told where it is: the kernel refuses to write from what is not mapped.
FROM_MEMORY = """
import ctypes, os, re
libc = ctypes.CDLL(None)
reading, writing = os.pipe()
def page(address):
    if libc.write(writing, ctypes.c_void_p(address), ctypes.c_size_t(4096)) == 4096:
        return os.read(reading, 4096)
def search(pattern):
    seeds = {id(object()), id("x" * 100), id(bytearray(10)), id([1] * 1000), ctypes.addressof(ctypes.create_string_buffer(2**20))}
    libc.malloc.restype = ctypes.c_void_p
    seeds |= {libc.malloc(1000), ctypes.addressof(ctypes.create_string_buffer(5000))}
    done = set()
    for seed in seeds:
        for step in (4096, -4096):
            address, missing = seed & ~4095, 0
            while missing < 600 and address > 0 and len(done) < 60000:
                if address not in done:
                    done.add(address)
                    data = page(address)
                    missing = 0 if data else missing + 1
                    if data:
                        for found in re.findall(pattern, data):
                            yield found.decode()
                address += step
@@
"""

FORGERIES = [
    Forgery("equals everything", "class E:\n    def __eq__(self, other):\n        return True\ndef attack():\n    return E()"),
    Forgery("a text that equals everything", "class E(str):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\ndef attack():\n    return E('x')"),
    Forgery("a number that equals everything", "class E(int):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\ndef attack():\n    return E(1)"),
    Forgery("a list that equals everything", "class E(list):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\ndef attack():\n    return E()"),
    Forgery("leaves with success", "import os\ndef attack():\n    print('PASSED', flush=True)\n    os._exit(0)"),
    Forgery("raises SystemExit", "def attack():\n    print('PASSED', flush=True)\n    raise SystemExit(0)"),
    Forgery("leaves while loading", "import sys\nprint('PASSED', flush=True)\nsys.exit(0)"),
    Forgery("replaces the process", "import os, sys\ndef attack():\n    os.execv(sys.executable, [sys.executable, '-S', '-c', 'print(\"PASSED\")'])"),
    Forgery("reads the answer in its callers' frames", FROM_FRAMES),
    Forgery("reads the answer with the garbage collector", FROM_THE_COLLECTOR),
    Forgery(
        "skips the assertion with a tracer",
        "import sys\ndef attack():\n    frame = sys._getframe(1)\n"
        "    def trace(f, event, arg):\n        f.f_lineno = f.f_lineno + 1\n        f.f_trace = None\n        return None\n"
        "    def outer(f, event, arg):\n        return None\n"
        "    sys.settrace(outer)\n    frame.f_trace = trace\n",
        False,
    ),
    Forgery(
        "makes failing succeed",
        "import sys, atexit, os\ndef attack():\n    sys.excepthook = lambda *a: (print('PASSED', flush=True), os._exit(0))\n    return 'wrong'",
    ),
    Forgery(
        "makes the end of the process succeed",
        "import atexit, os\ndef attack():\n    atexit.register(lambda: (print('PASSED', flush=True), os._exit(0)))\n    return 'wrong'",
    ),
    Forgery("says `accepted` to every descriptor", TO_ALL_DESCRIPTORS + "say(b'[\"accepted\"]', json.dumps(['accepted']).encode())", False),
    Forgery("completes every descriptor's business", TO_ALL_DESCRIPTORS + "say(*[b'[\"completed\", \"\"]'] * 3)", False),
    Forgery("sends a report to every descriptor", TO_ALL_DESCRIPTORS + "say(struct.pack('<BiddQ', 0, 0, 0, 0, 0) + b'[\"accepted\"]')", False),
    Forgery("announces more than it sends", "import os\nfor d in range(3, 300):\n    try:\n        os.write(d, b'\\xff' * 4 + b'x')\n    except OSError:\n        pass\ndef attack():\n    return 'wrong'", False),
    Forgery("sends nested JSON", TO_ALL_DESCRIPTORS + "say(b'[' * 100000)", False),
    Forgery("closes every descriptor", "import os\nos.closerange(3, 300)\ndef attack():\n    return 'wrong'", False),
    Forgery("answers from a thread, out of turn", TO_ALL_DESCRIPTORS + "import threading\nthreading.Thread(target=say, args=(b'[\"completed\", \"1\"]',)).start()", False),
    Forgery(
        "changes how the harness speaks",
        "import sys, json\nh = sys.modules.get('merilo.sandbox.inside.harness')\n"
        "if h:\n    h._packed = lambda record: b'[\"accepted\"]'\n    h.messages.write = lambda d, *p: __import__('os').write(d, b'\\n\\0\\0\\0[\"accepted\"]')\n"
        "def attack():\n    return 'wrong'",
        False,
    ),
    Forgery("an answer that stays behind", "def attack():\n    return object()", False),
    Forgery("an endless iterator", "import itertools\ndef attack():\n    return itertools.count()", False),
    Forgery("a number that is no number", "def attack():\n    return float('nan')", False),
]  # fmt: skip

CHECK = "def check(candidate):\n    if candidate() != '{gold}':\n        raise AssertionError\n    assert candidate() == '{gold}'\n"


def a_check() -> Check:
    """A check whose correct answer cannot be guessed."""
    return Check(CHECK.format(gold="GOLD" + secrets.token_hex(16)))


def fools_a_naive_executor(forgery: Forgery) -> bool:
    source = f"{forgery.source}\n{a_check().source}\ncheck(attack)\nprint('PASSED')\n"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"exec(compile({source!r}, 'program', 'exec'), {{'__name__': 'x'}})"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode == 0 and b"PASSED" in done.stdout


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_wrong_program_does_not_pass_and_leaves_its_neighbours_alone(forgery: Forgery, pool: Pool) -> None:
    programs = [
        asked("'left'", "left"),
        Program("checked", forgery.source, "attack", a_check()),
        asked("'between'", "between"),
        Program("called", forgery.source, "attack", ({}, {})),
        asked("'right'", "right"),
    ]
    executions = {execution.id: execution for execution in pool.run(programs)}
    assert executions["checked"].outcome is not Outcome.COMPLETED
    assert len(executions["called"].texts) == 2
    for name in ("left", "between", "right"):
        assert executions[name].texts == (name,)


@pytest.mark.parametrize(
    "forgery", [forgery for forgery in FORGERIES if forgery.fools], ids=lambda forgery: forgery.name
)
def test_the_forgery_passes_where_program_and_test_share_a_process(forgery: Forgery) -> None:
    assert fools_a_naive_executor(forgery)


def test_right_answers_are_nowhere_in_the_programs_memory() -> None:
    """Not even after other programs were held against the same check by the same worker."""
    gold = "GOLD" + secrets.token_hex(16)
    check = Check(CHECK.format(gold=gold), context=f"known = '{gold}'")
    pattern = "rb'GOLD' + rb'[0-9a-f]{32}'"
    planted = "f" * 32
    with jailed(Limits(wall_seconds=30, memory_bytes=2**30)) as pool:
        right = Program("right", f"def attack():\n    return '{gold}'", "attack", check)
        assert [execution.outcome for execution in pool.run([right] * 5)] == [Outcome.COMPLETED] * 5
        searching = FROM_MEMORY.replace("@@", f"def attack():\n    return next(search({pattern}), None)")
        assert only(pool, searching, check).outcome is Outcome.REFUSED
        # The search works: it finds a value in the program's own memory.
        finding = FROM_MEMORY.replace(
            "@@", f"def attack():\n    kept = 'GO' + 'LD{planted}'\n    return set(search({pattern}))"
        )
        assert f"GOLD{planted}" in str(only(pool, finding).texts[0])
        assert gold not in str(only(pool, finding).texts[0])


#: HumanEval/38 draws its tests so: the program is given `encoded(text)` and must answer `text`.
RANDOM_CHECK = """
def check(candidate):
    from random import choice, randint
    import string
    for _ in range(100):
        text = "".join(choice(string.ascii_lowercase) for _ in range(randint(10, 20)))
        assert candidate(text[::-1] + "!") == text
"""

#: Draws the texts of that public generator, from the seed that it supposes, instead of solving the problem.
REPEATS_THE_GENERATOR = """
import random, string
random.seed(@SEED@)
drawn = ["".join(random.choice(string.ascii_lowercase) for _ in range(random.randint(10, 20))) for _ in range(100)]
drawn.reverse()
def attack(text):
    return drawn.pop()
"""


def judged_with(pool: Pool, seed: str | None, supposed: str) -> Outcome:
    source = REPEATS_THE_GENERATOR.replace("@SEED@", supposed)
    program = Program("only", source, "attack", Check(RANDOM_CHECK), judge_seed=seed)
    (execution,) = pool.run([program])
    return execution.outcome


def test_a_program_that_repeats_the_generator_of_a_random_check_does_not_pass(pool: Pool) -> None:
    known = hashlib.sha256(b"known").hexdigest()
    # The attack is real: the seed is all it lacks.
    assert judged_with(pool, "known", repr(known)) is Outcome.COMPLETED
    for supposed in ("0", "None", "''", repr(known)):
        assert judged_with(pool, None, supposed) is Outcome.REFUSED
    assert judged_with(pool, "another", repr(known)) is Outcome.REFUSED


def test_the_same_seed_gives_a_check_the_same_random_tests_and_another_gives_others(pool: Pool) -> None:
    check = Check("def check(candidate):\n    import random\n    candidate(random.random())")
    source = "def attack(x):\n    raise ValueError(x)"

    def drawn(seed: str | None) -> str:
        (execution,) = pool.run([Program("only", source, "attack", check, judge_seed=seed)])
        return execution.message

    # Whatever was checked before.
    assert (
        drawn("a")
        == drawn("a")
        == str(random.Random(hashlib.sha256(b"a").hexdigest()).random())
        != drawn("b")
    )
    assert drawn(None) != drawn(None)
    assert float(drawn("\ud800")) < 1


def test_a_program_does_not_see_the_next_question_before_it_has_answered(pool: Pool) -> None:
    """The next question may hold the answer to this one."""
    gold = "GOLD" + secrets.token_hex(16)
    check = Check(
        f"def check(candidate):\n    assert candidate('x') == '{gold}'\n    assert candidate('{gold}') == 'x'"
    )
    source = (
        "import os, select, sys\n"
        "def attack(text):\n"
        "    seen, frame = b'', sys._getframe()\n"
        "    while frame:\n"
        "        for value in frame.f_locals.values():\n"
        "            seen += repr(getattr(value, '__dict__', value)).encode()\n"
        "        frame = frame.f_back\n"
        "    for descriptor in range(64):\n"
        "        try:\n"
        "            if select.select([descriptor], [], [], 0.01)[0]:\n"
        "                seen += os.read(descriptor, 4096)\n"
        "        except OSError:\n"
        "            pass\n"
        "    return seen[seen.index(b'GOLD'):][:36].decode() if b'GOLD' in seen else seen.decode('latin-1')"
    )
    right = f"def attack(text):\n    return 'x' if text == '{gold}' else '{gold}'"
    assert only(pool, right, check).outcome is Outcome.COMPLETED
    for _ in range(3):
        assert only(pool, source, check).outcome is Outcome.REFUSED
    # The attack finds what is there: in another process's place, with the question sent at once, it would pass.
    reading, writing = os.pipe()
    os.write(writing, gold.encode())
    namespace: dict[str, Callable[[str], str]] = {}
    exec(source.replace("range(64)", f"[{reading}]").replace("sys._getframe()", "None"), namespace)
    assert namespace["attack"]("x") == gold
    os.close(reading)
    os.close(writing)


def test_the_answers_of_earlier_programs_are_nowhere_in_a_programs_memory() -> None:
    marks = [secrets.token_hex(16) for _ in range(3)]
    pattern = "rb'MARK' + rb'[0-9a-f]{32}'"
    with jailed(Limits(wall_seconds=30, memory_bytes=2**30)) as pool:
        for mark in marks:
            assert only(pool, f"def attack():\n    return 'MARK{mark}' * 10").outcome is Outcome.COMPLETED
        searching = FROM_MEMORY.replace("@@", f"def attack():\n    return set(search({pattern}))")
        found = str(only(pool, searching).texts[0])
        assert not [mark for mark in marks if mark in found]


#: A program may return another type than a list; the check gets the equivalent plain value.
OF_ANY_TYPE = """
import collections, enum
class Three(enum.IntEnum):
    three = 3
def attack(what):
    return {'counter': collections.Counter('aab'), 'ordered': collections.OrderedDict(a=1), 'enum': Three.three,
            'named': collections.namedtuple('P', 'x y')(1, 2), 'map': map(str, [1, 2]), 'range': range(3),
            'half': __import__('decimal').Decimal('0.5'), 'deque': collections.deque([1, 2]), 'view': {1: 2}.keys(),
            'big': 7 ** 6000, 'bytes': b'ab', 'set': {1, 2}, 'nested': [({'a': (None, True)},)]}[what]
"""
AS_PLAIN_VALUES = """
    assert c('counter') == {'a': 2, 'b': 1} and c(what='ordered') == {'a': 1} and c('enum') == 3 and c('named') == (1, 2)
    assert list(c('map')) == ['1', '2'] and list(c('range')) == [0, 1, 2] and c('big') == 7 ** 6000 and c('half') == 0.5
    assert list(c('deque')) == [1, 2] and sorted(c('view')) == [1] and c('bytes') == b'ab' and c('set') == {2, 1}
    assert c('nested') == [({'a': (None, True)},)]
"""
EXPECTS_AN_ERROR = """
    try:
        c('x')
    except ValueError as error:
        assert 'invalid' in str(error)
    else:
        assert False
"""
EXPECTS_UNFIT = """
    try:
        c()
    except ValueError as error:
        assert (type(error).__name__, str(error)) == ('Unfit', 'no'), repr(error)
    else:
        assert False
"""
UNFIT = "class Unfit({base}):\n    pass\ndef attack():\n    raise Unfit({said})"
READS_A_NUMBER = "def attack(text):\n    return int(text)"
FROM_THREADS = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(c, range(200))) == list(range(200))
"""
LENIENT = "\n    try:\n        c()\n    except BaseException:\n        pass"
ONE = "def attack():\n    return 1"

#: What is checked -> the program, the body of check(c), the outcome, and the error.
CHECKED = {
    "answers cross as plain values": (OF_ANY_TYPE, AS_PLAIN_VALUES, Outcome.COMPLETED, ""),
    "an exception may be expected": (READS_A_NUMBER, EXPECTS_AN_ERROR, Outcome.COMPLETED, ""),
    "an expected exception may be missing": ("def attack(text):\n    return 1", EXPECTS_AN_ERROR, Outcome.REFUSED, "AssertionError"),
    "an exception of the program's own": (UNFIT.format(base="ValueError", said="'no'"), EXPECTS_UNFIT, Outcome.COMPLETED, ""),
    "one of another built-in base": (UNFIT.format(base="KeyError", said="'no'"), EXPECTS_UNFIT, Outcome.EXCEPTION, "Unfit"),
    "one of a library's": (UNFIT.format(base="__import__('json').JSONDecodeError", said="'no', '', 0"), EXPECTS_UNFIT, Outcome.REFUSED, "AssertionError"),
    "calls from several threads": ("def attack(x):\n    return x", FROM_THREADS, Outcome.COMPLETED, ""),
    "what is wrong is not the failure expected before": (
        READS_A_NUMBER, EXPECTS_AN_ERROR + "    assert c('1') == 2", Outcome.REFUSED, "AssertionError"),
    "a failure that nobody expected": (READS_A_NUMBER, "\n    assert c('1') == 1\n    c('x')", Outcome.EXCEPTION, "ValueError"),
    "a check that is broken": (ONE, "\n    )", Outcome.REFUSED, "SyntaxError"),
    "a check that never asks": ("def attack( nonsense", "\n    pass", Outcome.SYNTAX_ERROR, "SyntaxError"),
    "a check that swallows everything": ("import os\ndef attack():\n    os._exit(0)", LENIENT, Outcome.EXITED, "exit 0"),
    "a failure told at length": (
        TO_ALL_DESCRIPTORS + "say(json.dumps(['exception'] + ['x' * 10 ** 5] * 3).encode())\nwhile True:\n    pass",
        "\n    assert c() == 1", Outcome.EXCEPTION, "x" * 100),
    "a long text": ("def attack():\n    return 'x' * 10 ** 7", "\n    c()", Outcome.OUTPUT, ""),
    "a list with a long text": ("def attack():\n    return ['x' * 10 ** 7]", "\n    c()", Outcome.OUTPUT, ""),
    "a long list": ("def attack():\n    return list(range(10 ** 6))", "\n    c()", Outcome.OUTPUT, ""),
    "a long number": ("def attack():\n    return 1 << 10 ** 8", "\n    c()", Outcome.OUTPUT, ""),
}  # fmt: skip


@pytest.mark.parametrize(("source", "body", "outcome", "error"), CHECKED.values(), ids=CHECKED)
def test_a_check_ends_as_it_should(source: str, body: str, outcome: Outcome, error: str, pool: Pool) -> None:
    execution = only(pool, source, Check(f"def check(c):{body}"))
    assert (execution.outcome, execution.error, execution.attempts) == (outcome, error, 1), execution.message
    assert is_healthy(pool)


def test_a_check_that_swallows_everything_does_not_pass_a_program_that_is_late() -> None:
    with jailed(Limits(wall_seconds=0.75)) as impatient:
        check = Check(f"def check(c):{LENIENT}")
        assert (
            only(impatient, "def attack():\n    while True:\n        pass", check).outcome is Outcome.TIMEOUT
        )


@pytest.mark.parametrize(
    "raised", ["StopIteration", "StopAsyncIteration", "type('End', (StopIteration,), {})"]
)
@pytest.mark.parametrize(
    "loop",
    [
        "for said, right in zip(map(candidate, [1, 2]), 'ab'):\n        assert said == right",
        "assert all(map(candidate, [1, 2]))",
    ],
    ids=["zip", "all"],
)
def test_an_exception_that_ends_loops_does_not_end_the_checks(raised: str, loop: str, pool: Pool) -> None:
    execution = only(pool, f"def attack(x):\n    raise {raised}", Check(f"def check(candidate):\n    {loop}"))
    assert execution.outcome is Outcome.EXCEPTION


@pytest.mark.thorough
def test_what_one_program_answered_takes_no_memory_from_the_next_ones_check() -> None:
    """Ranges are small until a check makes lists of them; then an exception keeps the check's frame."""
    greedy = "def attack(x):\n    if x == 9:\n        raise ValueError\n    return range(2 * 10 ** 6)"
    checks = {
        greedy: "got = [list(candidate(n)) for n in range(3)]\n    assert candidate(9) == 3",
        "def attack(x):\n    return x": f"assert len(bytearray({240 * 2**20})) and candidate(1) == 1",
    }
    programs = [
        Program(str(number), source, "attack", Check(f"def check(candidate):\n    {body}"))
        for number, (source, body) in enumerate(checks.items())
    ]
    with jailed(Limits(wall_seconds=10, memory_bytes=450 * 2**20)) as pool:
        found = {execution.id: execution for execution in pool.run(programs)}
    assert found["0"].outcome is Outcome.EXCEPTION
    assert found["1"].outcome is Outcome.COMPLETED, found["1"]


def test_a_check_may_call_the_program_by_its_name(pool: Pool) -> None:
    """As some of HumanEval's do; the stub of the same name, in the prompt, is not what they mean."""
    check = Check(
        "def check(candidate):\n    assert attack(2) == twice(2) == candidate(2)",
        context="def twice(x):\n    return 2 * x\ndef attack(x):\n    pass\n",
    )
    assert only(pool, "def attack(x):\n    return x + x", check).outcome is Outcome.COMPLETED
    assert only(pool, "def attack(x):\n    return x", check).outcome is Outcome.REFUSED


#: A check comes with a set of problems, which may be a stranger's: its process is jailed as a program's is.
HOSTILE_CHECKS = {
    "finds a descriptor of the worker's": (
        "import os, stat\ndef check(candidate):\n    sockets = 0\n    for number in range(3, 4096):\n        try:\n"
        "            sockets += stat.S_ISSOCK(os.fstat(number).st_mode) or 9\n        except OSError:\n            pass\n"
        "    assert sockets == 2"  # to the worker, to the program
    ),
    "has a capability": (
        "import ctypes\ndef check(candidate):\n    found = (ctypes.c_uint32 * 6)()\n"
        "    assert ctypes.CDLL(None).capget((ctypes.c_uint32 * 2)(0x20080522, 0), found) == 0\n    assert not any(found)"
    ),
    "is root": "import os\ndef check(candidate):\n    assert 0 not in {*os.getresuid(), *os.getresgid(), *os.getgroups()}",
    "forks": (
        "import os\ndef check(candidate):\n    try:\n        pid = os.fork()\n    except PermissionError:\n        return\n"
        "    if not pid:\n        os._exit(0)\n    assert False"
    ),
    "takes all memory": (
        "def check(candidate):\n    try:\n        bytearray(10 ** 10)\n    except MemoryError:\n        return\n    assert False"
    ),
    "writes a file without end": (
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ndef check(candidate):\n    try:\n"
        "        with open('/tmp/file', 'wb') as file:\n            for _ in range(99):\n                file.write(bytes(2 ** 20))\n"
        "    except OSError:\n        return\n    assert False"
    ),
    "can be killed from its namespace alone": "import os\ndef check(candidate):\n    assert (os.getpid(), os.getppid()) == (1, 0)",
}


@pytest.mark.parametrize("source", HOSTILE_CHECKS.values(), ids=HOSTILE_CHECKS)
def test_a_check_too_is_jailed(source: str, pool: Pool) -> None:
    execution = only(pool, "def attack():\n    return 1", Check(source))
    assert execution.outcome is Outcome.COMPLETED, execution
    assert is_healthy(pool)


@pytest.mark.thorough
def test_a_judge_takes_one_heavy_check_after_another() -> None:
    """What bounds a program's processor time bounds no judge, which outlives many."""
    check = Check(
        "import time\ndef check(candidate):\n    end = time.process_time() + 0.6\n    while time.process_time() < end:\n        pass\n"
        "    assert candidate() == 1"
    )
    with jailed(Limits(wall_seconds=30, cpu_seconds=1)) as pool:
        programs = [
            Program(str(number), "def attack():\n    return 1", "attack", check) for number in range(4)
        ]
        found = [(execution.outcome, execution.attempts) for execution in pool.run(programs)]
    assert found == [(Outcome.COMPLETED, 1)] * 4


def test_a_check_that_kills_its_own_process_costs_no_check_that_waits_behind_it(pool: Pool) -> None:
    source = "def attack():\n    return 1"
    deadly = Check("import os\ndef check(candidate):\n    os._exit(0)")
    sound = Check("def check(candidate):\n    assert candidate() == 1")
    checks = {"deadly": deadly, **dict.fromkeys(("first", "second", "third"), sound)}
    programs = [Program(name, source, "attack", check) for name, check in checks.items()]
    found = {execution.id: (execution.outcome, execution.attempts) for execution in pool.run(programs)}
    assert found.pop("deadly") == (Outcome.EXITED, 3)
    assert found == dict.fromkeys(("first", "second", "third"), (Outcome.COMPLETED, 1))
