"""python without_io_uring.py PROGRAM WORDS…: runs it where the kernel has io_uring and forbids it,
as containers do."""

import ctypes
import os
import struct
import sys

IO_URING_SETUP = 425  # on every processor
EPERM = 1
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000

steps = [(LOAD_WORD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP),
         (RETURN, 0, 0, FAIL_WITH | EPERM), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
rules = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
              (PR_SET_SECCOMP, MODE_FILTER, ctypes.c_void_p(ctypes.addressof(rules)), 0, 0)):
    if libc.prctl(*words) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])
