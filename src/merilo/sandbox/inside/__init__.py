"""The modules that run inside the jail.

They need Python 3.9 or later and import only the standard library and each other.

worker        sets up the jail and its scratch folders, loads what programs need, runs one job after another
fork_server   the process that programs are forked from
harness       the program's own process: runs the program and sends its answers
judge         the process that runs a check against the answers of the program's process
messages      framed messages, and the values that may cross between processes, as text
kernel        the system calls that the standard library lacks
"""
