"""Running programs that nobody trusts, and scoring them.

The jail, from the outside in:

    program                     what a program is asked, and what can become of it
    pool, lane, reading         workers, one queue; a worker as the pool sees it; what its reports mean
    backends, docker            ways to jail: bubblewrap, Docker, none
    launch                      what each of them needs to start a worker
    interpreter, seccomp,       what a backend needs: the Python inside, the filter of system calls,
      usernamespace               ids that nobody has
    inside                      what runs in the jail: the worker, the program's process, the judge
    doctor, probes              does it hold here? found out by trying to break it

Scoring:

    completions, extraction,    what a model wrote, and the program cut out of it
      fences, layout
    problems, verdicts, tally   what is asked, whether the answers are right, pass@k
    job, ledger, packed,        a file of completions judged to the end, whatever happens
      executors, cluster, export
"""
