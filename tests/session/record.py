# SPDX-License-Identifier: BSD-3-Clause
"""A relay that writes down what passes in both directions, over all of a session's connections.

usage: record.py HOST:PORT FILE     prints the address on which it listens
"""
import socket
import sys

from relay import relay

listener = socket.create_server(("127.0.0.1", 0))
print("127.0.0.1:%d" % listener.getsockname()[1], flush=True)
with open(sys.argv[2], "ab", buffering=0) as record:
    relay(listener, lambda: sys.argv[1], record)
