"""The modules that run inside the jail.

They need Python 3.9 or later and import only the standard library and each other.

start         starts a worker: sets up its jail and loads what programs need
server        the worker: runs one job after another, watches and reports each
fork_server   the process that programs are forked from
scratch       the folders that programs may write to
harness       the program's own process: runs the program and sends its answers
judge         the process that runs a check against the answers of the program's process
codec         the values that may cross between processes, as text
kernel        the system calls that the standard library lacks
frames        length-prefixed messages on a descriptor
"""
