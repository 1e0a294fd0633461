#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a file as a C array, so that the broker needs no file beside itself: embed.py NAME FILE"""
import sys

name, path = sys.argv[1:3]
data = open(path, "rb").read()
print("/* Generated from %s. */" % path)
print("static const char %s[] = {" % name)
for start in range(0, len(data), 16):
    print("    " + ", ".join("%d" % (b if b < 128 else b - 256) for b in data[start:start + 16]) + ",")
print("    0};")
print("static const size_t %s_size = %d;" % (name, len(data)))
