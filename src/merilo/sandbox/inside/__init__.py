"""What runs inside the jail: the standard library alone, Python 3.9 and later, nothing of the rest of Merilo.

start       how a worker comes up: its place in the jail, and what programs find prepared
server      the worker: one job after another, watched and reported
nursery     the process that programs are forked from
scratch     the folders that programs may write to
harness     the program's own process: runs it, and answers
judge       the process that runs a check against the answers of another process
plain       the values that may cross between processes, as text
kernel      the system calls that the standard library lacks
frames      messages of known length on a descriptor
"""
