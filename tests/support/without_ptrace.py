# SPDX-License-Identifier: Apache-2.0
"""A Python script that runs a command for which ptrace is forbidden, as in containers and hardened machines."""

# seccomp(2): ptrace, system call 101, returns EPERM; all other system calls are allowed
NO_PTRACE = """
import ctypes, os, struct, sys
program = b"".join(struct.pack("HBBI", *line) for line in
                   [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)])
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.cast(buffer, ctypes.c_void_p))), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""
