#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forwards connections to a box and cuts them after a number of bytes, both directions counted, that a seed decides.

    cutter.py TARGET SEED MEAN CUTS FIRST

TARGET is HOST:PORT. MEAN is about how many bytes pass before a cut; every third cut falls into the first bytes of its
connection, where the client proves itself and both sides say what they have received. After CUTS cuts there are no more. The
first connection of a session is not cut before FIRST bytes, since a session that is not open yet has nothing to survive with.
SIGUSR1 cuts all connections at once, whatever has passed. The line "cuts N" follows each cut. Cuts are ends (FIN) or resets (RST), of both sides or of the box's or the client's alone,
while the other side notices by itself."""
import random
import selectors
import signal
import socket
import struct
import sys

HANDSHAKE = 2500  # bytes in which a connection proves itself and continues


class Pair:
    def __init__(self, near, far):
        self.near, self.far = near, far
        self.left = None  # bytes before the cut; None: not known yet, or there is none
        self.passed = 0


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Cutter:
    def __init__(self, target, seed, mean, cuts, first):
        host, port = target.rsplit(":", 1)
        self.target = host, int(port)
        self.random = random.Random(seed)
        self.mean, self.cuts_left, self.first = mean, cuts, first
        self.selector = selectors.DefaultSelector()
        self.pairs = set()
        self.cuts = 0

    def choose(self, beginning):
        if not self.cuts_left:
            return None
        if b"rgpu-peer:" not in beginning:
            return self.first + int(self.random.expovariate(1 / self.mean))
        if self.random.randrange(3) == 0:
            return self.random.randrange(HANDSHAKE)
        return HANDSHAKE // 2 + int(self.random.expovariate(1 / self.mean))

    def accept(self, listener):
        near = listener.accept()[0]
        try:
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = Pair(near, far)
        self.pairs.add(pair)
        self.selector.register(near, selectors.EVENT_READ, (pair, near, far))
        self.selector.register(far, selectors.EVENT_READ, (pair, far, near))

    def close(self, pair):
        for end in (pair.near, pair.far):
            try:
                self.selector.unregister(end)
            except (KeyError, ValueError):
                pass
            end.close()
        self.pairs.discard(pair)

    def cut(self, pair):
        how = self.random.randrange(3)
        if how:
            reset(pair.near)
        if how != 1:
            reset(pair.far)
        self.close(pair)
        self.cuts += 1
        self.cuts_left -= 1
        print("cuts %d" % self.cuts, flush=True)

    def forward(self, pair, source, sink):
        try:
            data = source.recv(1 << 16)
            if not data:
                raise OSError
            if not pair.passed:
                pair.left = self.choose(data)
            part = data if pair.left is None else data[: pair.left]
            sink.sendall(part)
        except OSError:
            self.close(pair)
            return
        pair.passed += len(part)
        if pair.left is not None:
            pair.left -= len(part)
            if not pair.left and self.cuts_left:
                self.cut(pair)
            elif not pair.left:
                pair.left = None
                sink.sendall(data[len(part) :])

    def run(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.selector.register(listener, selectors.EVENT_READ)
        told, wake = socket.socketpair()
        self.selector.register(told, selectors.EVENT_READ, told)
        signal.signal(signal.SIGUSR1, lambda *_: wake.send(b"1"))
        print("port %d" % listener.getsockname()[1], flush=True)
        while True:
            for key, _ in self.selector.select():
                if key.data is told:
                    told.recv(64)
                    for pair in list(self.pairs):
                        self.cut(pair)
                elif key.data is None:
                    self.accept(listener)
                elif key.fileobj.fileno() >= 0:
                    self.forward(*key.data)


Cutter(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])).run()
