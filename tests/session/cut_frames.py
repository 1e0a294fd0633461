#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Forwards connections to boxes and cuts them before, inside and after messages of every kind (frames.py).

    cut_frames.py SEED CUTS TARGET...

Each TARGET, HOST:PORT, has a port of its own: the line "ports P..." names them. What was cut least is cut next: a kind that
lacks a cut in one of the three places gets that as soon as it passes, unless its session was cut just before; others are cut at
random, and each is logged. The line "complete" follows after CUTS cuts, once no kind that came often enough lacks one. SIGTERM ends it, with a
line of JSON: [kind, messages, before, inside, after] for each kind. A cut is an end (FIN) or a reset (RST) of either side; the
message that is to have passed arrives."""
import collections
import json
import os
import random
import selectors
import signal
import socket
import struct
import sys
import time

from frames import Sessions, Side

PLACES = "before", "inside", "after"
OFTEN = int(os.environ.get("OFTEN", "20"))  # messages of a kind that comes often enough
PAUSE = 0.05    # seconds for which a session is left alone, and more
SPARED = 12     # openings after one that was cut: a client tries three times
RANDOMLY = 400  # one of so many messages is cut without need, and one of 8 before the records
ROOM = 1 << 16


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Pair:
    def __init__(self, near, far, target):
        self.ends, self.target = {"client": near, "box": far}, target
        self.client, self.box = Side("client"), Side("box")
        self.session, self.section, self.bulk, self.claim = None, "opening", False, 0
        self.spared = False  # is not cut before it has continued


class Way:
    """What the speaker of SIDE sends."""

    def __init__(self, pair, side):
        self.pair, self.side = pair, side
        self.source = pair.ends[side.speaker]
        self.sink = pair.ends["box" if side is pair.client else "client"]
        self.held = self.leaving = b""
        self.message = None  # name and bytes
        self.cut = None      # kind and place
        self.until = 0       # bytes before the cut


class Cutter:
    def __init__(self, seed, cuts, targets):
        self.random = random.Random(seed)
        self.cuts_wanted, self.cuts = cuts, 0
        self.sessions = Sessions()
        self.seen = collections.Counter()
        self.table = collections.defaultdict(lambda: [0, 0, 0])
        self.quiet = {}  # until when sessions are left alone
        self.spared = 0
        self.is_complete = False
        self.selector = selectors.DefaultSelector()
        self.listeners = []
        for target in targets:
            host, port = target.rsplit(":", 1)
            listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            self.selector.register(listener, selectors.EVENT_READ, ((host, int(port)), None))
            self.listeners.append(listener)

    # ---- what to cut ----

    def choose(self, pair, name):
        """Returns where the message is cut, or None."""
        if name == "TLS 1 of the client":
            pair.section, pair.spared = "reconnection", self.random.randrange(3) == 0
        pair.spared = pair.spared and bool(pair.section)
        kind = "%s: %s" % (pair.section, name) if pair.section else name
        self.seen[kind] += 1
        counts = self.table[kind]
        now = time.monotonic()
        if pair.section == "opening":
            self.spared -= name == "HELLO of the client"
            if self.spared > 0:
                return None
        elif pair.spared or now < self.quiet.get((pair.target, pair.session), 0):
            return None
        if min(counts):
            if self.cuts >= self.cuts_wanted or self.random.randrange(8 if pair.section else RANDOMLY):
                return None
            return kind, self.random.randrange(3)
        return kind, counts.index(min(counts))

    def note(self, pair, cut):
        kind, place = cut
        self.table[kind][place] += 1
        self.cuts += 1
        print("%.3f cut %d session=%s %s %s" % (time.time(), self.cuts, pair.session, PLACES[place], kind), file=sys.stderr, flush=True)
        self.quiet[(pair.target, pair.session)] = time.monotonic() + PAUSE * self.random.random() * (1 if pair.section else 4)
        if pair.section == "opening":
            self.spared = SPARED
        if self.cuts >= self.cuts_wanted and not self.is_complete and all(
                min(self.table[kind]) for kind, seen in self.seen.items() if seen >= OFTEN):
            self.is_complete = True
            print("complete", flush=True)

    # ---- bytes ----

    def take(self, way):
        """Moves what may pass of the held bytes, up to a cut. Returns true if that has come."""
        side = way.side
        while way.held:
            if side.skip:
                self.move(way, min(side.skip, len(way.held)))
                continue
            if not side.stream.left:
                found = side.name(way.held)
                if not found:
                    return False
                side.stream.left = found[1]
                way.message = None if side.records else (found[0], way.held[:found[1]])
                way.cut = None if side.opaque else self.choose(way.pair, found[0])
                if way.cut:
                    way.until = (0, self.random.randrange(1, found[1]), found[1])[way.cut[1]]
                    if not way.until:
                        return True
            size = min(side.stream.left, len(way.held), way.until if way.cut else ROOM)
            self.move(way, size)
            way.until -= size
            if not side.stream.left and way.message:
                self.sessions.passed(way.pair, side, *way.message)
                way.message = None
            if way.cut and not way.until:
                return True
        return False

    def move(self, way, size):
        side = way.side
        way.leaving += way.held[:size]
        way.held = way.held[size:]
        if side.skip:
            side.skip -= size
        else:
            side.stream.left -= size
            side.stream.position += size

    def end(self, way, at_cut):
        for end in way.pair.ends.values():
            try:
                self.selector.unregister(end)
            except (KeyError, ValueError):
                pass
            # What is to have passed arrives before an end, not always before a reset.
            if at_cut and self.random.randrange(2) and (end is way.source or not way.cut[1]):
                reset(end)
            end.close()

    def forward(self, way):
        try:
            data = way.source.recv(ROOM)
            if not data:
                raise OSError
        except BlockingIOError:
            return
        except OSError:
            self.end(way, False)
            return
        way.held += data
        at_cut = self.take(way)
        try:
            self.send(way)
        except OSError:
            self.end(way, False)
            return
        if not at_cut:
            return
        if way.leaving:  # the peer's window is full
            way.sink.setblocking(True)
            try:
                way.sink.sendall(way.leaving)
            except OSError:
                pass
        self.note(way.pair, way.cut)
        self.end(way, True)

    def send(self, way):
        if way.leaving:
            try:
                way.leaving = way.leaving[way.sink.send(way.leaving):]
            except BlockingIOError:
                pass
        self.watch(way.pair)

    def watch(self, pair):
        """A side is read when nothing of what it sent before is still to leave."""
        for way, other in (pair.ways, pair.ways[::-1]):
            events = (0 if way.leaving else selectors.EVENT_READ) | (selectors.EVENT_WRITE if other.leaving else 0)
            key = self.selector.get_map().get(way.source)
            if key and key.events != events:
                self.selector.unregister(way.source)
            if events and not (key and key.events == events):
                self.selector.register(way.source, events, (way, other))

    def accept(self, listener, target):
        near = listener.accept()[0]
        try:
            far = socket.create_connection(target)
        except OSError:
            near.close()
            return
        pair = Pair(near, far, target)
        pair.ways = Way(pair, pair.client), Way(pair, pair.box)
        for way, other in (pair.ways, pair.ways[::-1]):
            way.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            way.source.setblocking(False)
            self.selector.register(way.source, selectors.EVENT_READ, (way, other))

    def run(self):
        print("ports", *[listener.getsockname()[1] for listener in self.listeners], flush=True)
        while True:
            for key, events in self.selector.select():
                first, second = key.data
                if second is None:
                    self.accept(key.fileobj, first)
                    continue
                try:
                    if events & selectors.EVENT_WRITE and key.fileobj.fileno() >= 0:
                        self.send(second)
                except OSError:
                    self.end(second, False)
                if events & selectors.EVENT_READ and key.fileobj.fileno() >= 0 and not first.leaving:
                    self.forward(first)


def finish(*_):
    rows = [[kind, cutter.seen[kind], *cutter.table[kind]] for kind in sorted(cutter.seen)]
    print("table", json.dumps(rows), flush=True)
    sys.exit(0)


cutter = Cutter(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
signal.signal(signal.SIGTERM, finish)
cutter.run()
