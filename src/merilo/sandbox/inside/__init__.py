"""What runs inside the jail: the standard library alone, Python 3.9 and later, nothing of the rest of Merilo.

server      the warm worker: one program after another, each in a process and a PID namespace of its own
harness     the program's own process: runs it, and answers
judge       the process that runs a check against the answers of another process
plain       the values that may cross between processes, as text
kernel      the system calls that the standard library lacks
frames      messages of known length on a descriptor
"""
