#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forwards connections to the address that the file TARGET has by then, until it is ended, which cuts them all.

    forwarder.py TARGET"""
import pathlib
import socket
import sys

from relay import relay

listener = socket.create_server(("127.0.0.1", 0))
print("port %d" % listener.getsockname()[1], flush=True)
relay(listener, lambda: pathlib.Path(sys.argv[1]).read_text().strip())
