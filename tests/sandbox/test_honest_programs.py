"""Programs that mean no harm and are odd: in the jail they answer what they answer without."""

import subprocess
import sys

import pytest
from sandbox_arena import only

from merilo.sandbox.pool import Pool

PROGRAMS = {
    "coroutines": "import asyncio\nasync def one(x):\n    await asyncio.sleep(0.001)\n    return x\nasync def all_():\n    return sum(await asyncio.gather(*map(one, range(50)))), await asyncio.to_thread(sum, [1, 2])\ndef attack():\n    return asyncio.run(all_())",
    "a pool of threads": "from concurrent.futures import ThreadPoolExecutor\ndef attack():\n    with ThreadPoolExecutor(16) as pool:\n        return sum(pool.map(lambda x: x * x, range(1000)))",
    "a deep stack in a thread": "import sys, threading\nthreading.stack_size(2 ** 27)\nsys.setrecursionlimit(10 ** 6)\ndef depth(n):\n    return n and 1 + depth(n - 1)\ndef attack():\n    found = []\n    thread = threading.Thread(target=lambda: found.append(depth(20000)))\n    thread.start()\n    thread.join()\n    return found",
    "recursion near the limit": "def depth(n):\n    return n and 1 + depth(n - 1)\ndef attack():\n    return depth(980)",
    "locks and values between processes that are never started": "import multiprocessing\ndef attack():\n    value, row = multiprocessing.Value('i', 3), multiprocessing.Array('i', [1, 2])\n    with multiprocessing.Lock():\n        return value.value, row[:]",
    "a pool of threads that looks like processes": "from multiprocessing.dummy import Pool\ndef attack():\n    with Pool(4) as pool:\n        return pool.map(abs, [-1, 2])",
    "a database in a file": "import sqlite3\ndef attack():\n    base = sqlite3.connect('numbers.db')\n    base.execute('drop table if exists t')\n    base.execute('create table t(a)')\n    base.execute('insert into t values (7)')\n    base.commit()\n    return base.execute('select * from t').fetchall()",
    "a shelf": "import shelve\ndef attack():\n    with shelve.open('shelf', 'n') as shelf:\n        shelf['a'] = [1]\n    with shelve.open('shelf') as shelf:\n        return shelf['a']",
    "a mapped file, synced": "import mmap, os\ndef attack():\n    with open('mapped', 'w+b') as file:\n        file.write(b'abc')\n        file.flush()\n        os.fsync(file.fileno())\n        with mmap.mmap(file.fileno(), 0) as mapped:\n            mapped[0:1] = b'x'\n            mapped.flush()\n        file.seek(0)\n        return file.read()",
    "temporary folders": "import os, shutil, tempfile\ndef attack():\n    with tempfile.TemporaryDirectory() as folder:\n        with tempfile.NamedTemporaryFile('w+', dir=folder) as file:\n            file.write('a')\n            file.flush()\n            shutil.copy(file.name, folder + '/b')\n        return os.listdir(folder)",
    "dataclasses that are pickled": "import pickle\nfrom dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\ndef attack():\n    return pickle.loads(pickle.dumps(Point(3))), Point.__module__",
    "annotations that name nothing": "from __future__ import annotations\ndef attack(x: Nothing = 3) -> Nobody:\n    return x",
    "a main part": "def attack():\n    return __name__\nif __name__ == '__main__':\n    import sys\n    sys.exit(input())",
    "input at its end": "import sys\ndef attack():\n    try:\n        return input('? ')\n    except EOFError:\n        return sys.stdin.read() + 'no more'",
    "printing much": "import sys\ndef attack():\n    for number in range(20000):\n        print(number, file=sys.stderr if number % 2 else sys.stdout)\n    return 1",
    "standard output replaced": "import contextlib, io\ndef attack():\n    with contextlib.redirect_stdout(io.StringIO()) as said:\n        print('heard')\n    return said.getvalue()",
    "lines that end as on Windows": "def attack():\r\n    return '''a\r\nb'''\r\n",
    "a declared encoding": "# -*- coding: latin-1 -*-\ndef attack():\n    return 'ж'",
    "tabs and form feeds": "\x0cdef attack():\n\tif True:\n\t\treturn 1\n\x0c",
    "a very long line": "def attack():\n    return sum([" + ", ".join(["1"] * 20000) + "])",
    "patterns": "def attack(x=(1, [2, 3])):\n    match x:\n        case (a, [b, *c]) if (total := a + b) > 2:\n            return total, c",
    "an alarm": "import signal, time\ndef ring(*_):\n    raise TimeoutError('rang')\ndef attack():\n    signal.signal(signal.SIGALRM, ring)\n    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    try:\n        time.sleep(5)\n    except TimeoutError as error:\n        return error",
    "unit tests": "import unittest\nclass Test(unittest.TestCase):\n    def test(self):\n        self.assertEqual(1, 1)\ndef attack():\n    return unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Test)).wasSuccessful()",
    "a callback from C": "import ctypes\nkind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))\ndef attack():\n    row = (ctypes.c_int * 3)(3, 1, 2)\n    ctypes.CDLL(None).qsort(row, 3, 4, kind(lambda a, b: a[0] - b[0]))\n    return list(row)",
    "a number of ten thousand digits": "def attack():\n    return 10 ** 4000 % 7, len(f'{10 ** 4000:x}')",
    "state that is kept": "count = 0\ndef attack():\n    global count\n    count += 1\n    return count",
}  # fmt: skip

#: What plain Python makes of a program, in a folder of its own.
WITHOUT_A_JAIL = """
import sys, types
out, module = sys.stdout, types.ModuleType("program")
sys.modules["program"] = module
exec(compile({source!r}, "program", "exec", dont_inherit=True), module.__dict__)
answer = str(module.attack())
out.write("@" + answer)
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_odd_program_answers_in_the_jail_what_it_answers_without(name: str, pool: Pool, tmp_path) -> None:
    source = PROGRAMS[name]
    done = subprocess.run(
        [sys.executable, "-S", "-X", "utf8", "-c", WITHOUT_A_JAIL.format(source=source)],
        cwd=tmp_path,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    expected = done.stdout.decode().rpartition("@")[2]
    execution = only(pool, source)
    assert execution.texts == (expected,), execution
