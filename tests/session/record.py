# SPDX-License-Identifier: BSD-3-Clause
"""A relay that writes down what passes in both directions, over all of a session's connections.

usage: record.py HOST:PORT FILE     prints the address on which it listens
"""
import socket
import sys
import threading


def pump(source, sink, record):
    try:
        while data := source.recv(1 << 16):
            record.write(data)
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    server = socket.create_server(("127.0.0.1", 0))
    print("127.0.0.1:%d" % server.getsockname()[1], flush=True)
    with open(sys.argv[2], "ab", buffering=0) as record:
        while True:
            client = server.accept()[0]
            box = socket.create_connection((host, int(port)))
            for ends in ((client, box), (box, client)):
                threading.Thread(target=pump, args=(*ends, record), daemon=True).start()


main()
