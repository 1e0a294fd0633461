#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under Landlock: it may read and execute all files, and write, make and remove none but in /dev, as no
program with a GPU or an RDMA device could do with less.

    landlocked.py PROGRAM [ARGUMENT...]      status 77: the kernel has no Landlock"""
import ctypes
import os
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF, PR_SET_NO_NEW_PRIVS = 444, 445, 446, 38
ALL, READ_AND_EXECUTE = (1 << 13) - 1, 1 << 0 | 1 << 2 | 1 << 3
libc = ctypes.CDLL(None)
attributes = struct.pack("Q", ALL)
rules = libc.syscall(CREATE_RULESET, attributes, len(attributes), 0)
if rules < 0:
    sys.exit(77)
for allowed, folder in (READ_AND_EXECUTE, "/"), (ALL, "/dev"):
    rule = struct.pack("=Qi", allowed, os.open(folder, os.O_PATH))
    if libc.syscall(ADD_RULE, rules, 1, rule, 0):
        sys.exit(77)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
    sys.exit(77)
if libc.syscall(RESTRICT_SELF, rules, 0):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
