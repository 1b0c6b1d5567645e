"""Running and scoring untrusted programs.

The jail, from the outermost layer to the innermost:

    program                     the types for a program, its tests and its execution
    pool, worker_process,       workers with one queue; the pool's handle of a worker process; parsing of
      worker_report               worker reports
    backends, docker            kinds of jail: bubblewrap, Docker, none
    launch                      what every backend needs to start a worker
    interpreter, seccomp,       the Python inside the jail, the filter of system calls, user ids that
      usernamespace               no account has
    inside                      what runs in the jail: the worker, the program's process, the judge
    doctor, probes              tests of the jail on this machine: attempts to break out of it

Scoring:

    completions, response_text, the rows that a model wrote, and the program extracted from each
      extraction, fences,
      layout, definitions
    problems, verdicts, results the problems, the verdict on each program, pass@k
    job, ledger, gzip_files,    scoring a whole file of completions, resumable after an interruption
      executors, cluster, export
"""
