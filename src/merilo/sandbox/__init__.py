"""Running and scoring untrusted programs.

The jail, from the outermost layer to the innermost:

    program                     the types for a program, its tests and its execution, and their messages
    pool                        workers with one queue
    backends                    kinds of jail: bubblewrap, Docker, none
    interpreter, seccomp        the Python inside the jail, the filter of system calls
    inside                      what runs in the jail: the worker, the program's process, the judge
    doctor, probes.toml         tests of the jail on this machine: hostile programs that try to break out of it

Scoring:

    problems                    problems, and the completions that a model or people wrote for them
    extraction, layout          the program in a completion
    ledger, executors           executions on disk; a pool or a cluster that runs the programs
    job                         a verdict on every completion of a file, resumable after an interruption
"""
