#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forwards connections to the address that the file TARGET has by then, until it is ended, which cuts them all.

    forwarder.py TARGET"""
import socket
import sys
import threading


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


listener = socket.create_server(("127.0.0.1", 0))
print("port %d" % listener.getsockname()[1], flush=True)
while True:
    near, _ = listener.accept()
    with open(sys.argv[1]) as file:
        host, port = file.read().strip().rsplit(":", 1)
    far = socket.create_connection((host, int(port)))
    for ends in ((near, far), (far, near)):
        threading.Thread(target=pump, args=ends, daemon=True).start()
