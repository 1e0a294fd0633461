#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program whose way to its box (RGPU_BOXES) is a worse network.

    network.py [--mtu BYTES] [--netem WORDS] [--delay MS] [--pieces] [--stalls] [--reset BYTES] PROGRAM [ARGUMENT...]

With --mtu and --netem the program runs in a network namespace of its own, whose loopback device is so; the rest is done to
what passes. Status: the program's, 77 where the kernel has no such network. With --reset all connections are reset once so many
bytes have passed: then a program that reports an error has done what it should."""
import argparse
import ctypes
import os
import queue
import random
import socket
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
parser = argparse.ArgumentParser()
parser.add_argument("--mtu")
parser.add_argument("--netem")
parser.add_argument("--delay", type=float, default=0)
parser.add_argument("--pieces", action="store_true")
parser.add_argument("--stalls", action="store_true")
parser.add_argument("--reset", type=int, default=0)
parser.add_argument("program", nargs=argparse.REMAINDER)
libc = ctypes.CDLL(None)
options = parser.parse_args()
passed = 0


def make_network():
    if libc.unshare(CLONE_NEWNET):
        sys.exit(77)
    commands = [["ip", "link", "set", "lo", "mtu", options.mtu or "65536", "up"]]
    if options.netem:
        commands.append(["tc", "qdisc", "add", "dev", "lo", "root", "netem", *options.netem.split()])
    for command in commands:
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            sys.exit(77)


def run_program(parent):
    """In the child: the listener is made where the program runs, and served from where the box is reached."""
    if options.mtu or options.netem:
        make_network()
    listener = socket.create_server(("127.0.0.1", 0))
    socket.send_fds(parent, [b"x"], [listener.fileno()])
    os.environ["RGPU_BOXES"] = "127.0.0.1:%d" % listener.getsockname()[1]
    os.execvp(options.program[0], options.program)


def reset(ends):
    """Connecting to no address resets a connection at once (connect(2)). A close would wait for the threads that receive."""
    nowhere = struct.pack("H14x", socket.AF_UNSPEC)
    for end in ends:
        libc.connect(end.fileno(), nowhere, len(nowhere))


def send(sink, data):
    while data:
        size = random.randint(1, 97) if options.pieces else len(data)
        sink.sendall(data[:size])
        data = data[size:]


def deliver(held, source, sink):
    global passed
    try:
        while True:
            due, data = held.get()
            if options.stalls and random.random() < 0.03:
                due += 0.2
            time.sleep(max(0, due - time.monotonic()))
            if not data:
                break
            send(sink, data)
            passed += len(data)
            if options.reset and passed > options.reset:
                reset((source, sink))
                return
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def pump(source, sink):
    held = queue.Queue(64)
    threading.Thread(target=deliver, args=(held, source, sink), daemon=True).start()
    data = b"x"
    while data:
        try:
            data = source.recv(1 << 16)
        except OSError:
            data = b""
        held.put((time.monotonic() + options.delay / 1000, data))


def serve(listener, box):
    while True:
        near = listener.accept()[0]
        far = socket.create_connection(box)
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


def main():
    host, port = os.environ["RGPU_BOXES"].rsplit(":", 1)
    ours, childs = socket.socketpair()
    child = os.fork()
    if not child:
        ours.close()
        run_program(childs)
    childs.close()
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if descriptors:
        listener = socket.socket(fileno=descriptors[0])
        threading.Thread(target=serve, args=(listener, (host, int(port))), daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if options.reset and status == 1:
        status = 0
    os._exit(status if status >= 0 else 128 - status)


main()
