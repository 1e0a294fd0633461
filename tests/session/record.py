# SPDX-License-Identifier: BSD-3-Clause
"""A relay that writes down what passes in both directions.

usage: record.py HOST:PORT FILE     prints the address on which it listens
"""
import selectors
import socket
import sys


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    server = socket.create_server(("127.0.0.1", 0))
    print("127.0.0.1:%d" % server.getsockname()[1], flush=True)
    selector = selectors.DefaultSelector()
    selector.register(server, selectors.EVENT_READ)
    with open(sys.argv[2], "wb", buffering=0) as record:
        while True:
            for key, _ in selector.select():
                if key.fileobj is server:
                    client = server.accept()[0]
                    box = socket.create_connection((host, int(port)))
                    selector.register(client, selectors.EVENT_READ, box)
                    selector.register(box, selectors.EVENT_READ, client)
                    continue
                try:
                    data = key.fileobj.recv(1 << 16)
                    record.write(data)
                    key.data.sendall(data)
                except OSError:
                    data = b""
                if not data:
                    for end in (key.fileobj, key.data):
                        selector.unregister(end)
                        end.close()
                    break


main()
