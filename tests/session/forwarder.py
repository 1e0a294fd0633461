#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forwards connections to the address that the file TARGET has by then, until it is ended, which cuts them all.

    forwarder.py TARGET [PORT]

PORT is where it listens: one that begins where another has ended is the same way again."""
import pathlib
import socket
import sys

from relay import relay

listener = socket.create_server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
print("port %d" % listener.getsockname()[1], flush=True)
relay(listener, lambda: pathlib.Path(sys.argv[1]).read_text().strip())
