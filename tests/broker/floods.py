# SPDX-License-Identifier: BSD-3-Clause
"""Strangers at the broker's door, each from an address of its own in 127/8:

    floods.py hold HOST:PORT COUNT [--from ADDRESS] [--send TEXT]   connects, sends, says "ready",
        holds the connections until its standard input ends; says how many the broker has closed
        meanwhile ("closed N") when a line comes, and "all closed" when none is left
    floods.py ask HOST:PORT --from ADDRESS PATH                     prints the status of one GET
    floods.py bodies HOST:PORT COUNT BYTES [--request METHOD-AND-PATH]
                                                sends heads that promise a body and all of the body
    floods.py early HOST:PORT                   a promised body that never comes: prints the answer
"""
import argparse
import http.client
import select
import socket
import sys


def address_of(number):
    return "127.%d.%d.%d" % (1 + number // 65536, number // 256 % 256, number % 256)


def connect(target, source):
    host, port = target.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30, source_address=(source, 0))


def has_ended(connection):
    """Reads what there is; True once the broker has closed."""
    try:
        while True:
            if not connection.recv(65536, socket.MSG_DONTWAIT):
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def hold(options):
    held = []
    for number in range(options.count):
        connection = connect(options.target, options.source or address_of(number))
        try:
            connection.sendall(options.send.encode().decode("unicode_escape").encode())
        except OSError:
            pass
        held.append(connection)
    print("ready", flush=True)
    closed = 0
    while held:
        ready = select.select([sys.stdin] + held, [], [])[0]
        for connection in [c for c in ready if c is not sys.stdin]:
            if has_ended(connection):
                held.remove(connection)
                connection.close()
                closed += 1
                print("closed %d" % closed, flush=True)
        if sys.stdin in ready and not sys.stdin.readline():
            return
    print("all closed", flush=True)
    sys.stdin.read()


def ask(options):
    host, port = options.target.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=60,
                                            source_address=(options.source, 0))
    connection.request("GET", options.path)
    print(connection.getresponse().status)


def bodies(options):
    held = [connect(options.target, address_of(number)) for number in range(options.count)]
    head = ("%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n" % (options.request, options.bytes))
    for connection in held:
        connection.sendall(head.encode())
    for connection in held:
        try:
            connection.sendall(b" " * options.bytes)
        except OSError:
            pass
    answers = set()
    for connection in held:
        try:
            answers.add(connection.recv(12)[9:12].decode())
        except OSError:
            answers.add("none")
    print(" ".join(sorted(answers)), flush=True)
    sys.stdin.read()


def early(options):
    connection = connect(options.target, "127.0.0.1")
    connection.sendall(b"POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: 1000000\r\n\r\n")
    print(connection.recv(65536).decode().split("\r\n")[0])


parser = argparse.ArgumentParser()
commands = parser.add_subparsers(required=True)
for function in (hold, ask, bodies, early):
    command = commands.add_parser(function.__name__)
    command.set_defaults(run=function)
    command.add_argument("target")
    if function in (hold, bodies):
        command.add_argument("count", type=int)
    if function is bodies:
        command.add_argument("bytes", type=int)
        command.add_argument("--request", default="POST /v1/leases")
    if function in (hold, ask):
        command.add_argument("--from", dest="source")
    if function is hold:
        command.add_argument("--send", default="")
    if function is ask:
        command.add_argument("path")
arguments = parser.parse_args()
arguments.run(arguments)
