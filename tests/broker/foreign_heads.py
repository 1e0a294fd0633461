# SPDX-License-Identifier: BSD-3-Clause
"""Requests with exactly the given headers: foreign_heads.py SOCKET HOST:PORT < LINES, each
"unix|tcp STATUS METHOD PATH|HEADER|...". Prints them with the status that each got; a request other
than GET has an empty JSON object as its body."""
import socket
import sys


def status(way, line, headers):
    if way == "unix":
        channel = socket.socket(socket.AF_UNIX)
        channel.connect(sys.argv[1])
    else:
        host, port = sys.argv[2].rsplit(":", 1)
        channel = socket.create_connection((host, int(port)))
    body = "" if line.startswith("GET") else "{}"
    size = ["Content-Length: %d" % len(body)] if body else []
    head = "\r\n".join([line + " HTTP/1.1"] + headers + size)
    channel.sendall((head + "\r\n\r\n" + body).encode())
    return channel.recv(65536).decode().split()[1]


for text in sys.stdin.read().splitlines():
    first, *headers = text.split("|")
    way, wanted, line = first.split(" ", 2)
    print(way, wanted, status(way, line, headers), " ".join([line] + headers), sep="\t")
