# SPDX-License-Identifier: BSD-3-Clause
"""What relays between a program and a box have in common."""
import socket
import threading


def pump(source, sink, record):
    try:
        while data := source.recv(1 << 16):
            if record:
                record.write(data)
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay(listener, target, record=None):
    """Joins each connection to one to the HOST:PORT that target() says by then. What passes is written to RECORD."""
    while True:
        near = listener.accept()[0]
        host, port = target().rsplit(":", 1)
        far = socket.create_connection((host, int(port)))
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(*ends, record), daemon=True).start()
