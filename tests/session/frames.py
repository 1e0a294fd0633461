# SPDX-License-Identifier: BSD-3-Clause
"""The messages of a session over tcp as a proxy sees them: where each begins, how long it is with its payload, and its name in
proto/. Nothing is decrypted: records of TLS have numbers. Sessions have no ticket and no extra connections."""
import os
import re
import struct

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")
SIZE_BITS, ACKNOWLEDGEMENT = 0x1FFF8, 8  # of a record's first word; bytes of a record of size 0
HEAD = 64  # bytes of a record that suffice to know its payload
RESUME_NUMBER = 4294967288
# Where a record says how much payload follows it: bytes from its beginning.
PAYLOADS = {"request push_block": ("<I", 36), "request graph_block": ("<Q", 40), "request peer_frame": ("<I", 48),
            "event DATA": ("<I", 28), "event GRAPH_BLOCK": ("<Q", 40), "event PEER_FRAME": ("<I", 56)}


def read(name):
    with open(os.path.join(PROTO, name)) as file:
        return file.read()


def requests():
    return {int(m[1]): m[3] for m in re.finditer(r"^(\d+) +(async|sync|blocking)[\w,()]* +(\w+) ", read("cuda.spec"), re.M)}


def events():
    body = re.search(r"enum wire_event_kind \{(.*?)\};", read("wire.h"), re.S)[1]
    names, number = {}, 0
    for name, value in re.findall(r"EVENT_(\w+)(?:\s*=\s*(\d+))?,", re.sub(r"//.*", "", body)):
        number = int(value) if value else number + 1
        names[number] = name
    return names


REQUESTS, EVENTS = requests(), events()
CONTROL = {int(m[1]): m[2] for m in re.finditer(r"^message (\d+) (\w+)", read("control.spec"), re.M)}


class Stream:
    """The bytes of a session in one direction: how many have passed, and how many are still to come of a message."""

    def __init__(self):
        self.position, self.left = 0, 0


class Side:
    """One direction of one connection. `speaker` is client or box."""

    def __init__(self, speaker):
        self.speaker = speaker
        self.stream = Stream()
        self.skip = 0  # bytes that are sent again
        self.records = self.opaque = False
        self.sealed = 0  # number of TLS records

    def name(self, held):
        """Returns name and length of the message that HELD begins with, or None if more of it must be there."""
        if self.opaque:
            return "other bytes", len(held)
        return self.record(held) if self.records else self.greeting(held)

    def record(self, held):
        if len(held) < 8:
            return None
        size = struct.unpack_from("<I", held)[0] & SIZE_BITS
        if not size:
            return "goodbye" if held[4:8] == b"\xff" * 4 else "acknowledgement of the " + self.speaker, ACKNOWLEDGEMENT
        if len(held) < min(size, HEAD):
            return None
        number = struct.unpack_from("<H", held, 4)[0]
        name = "request " + REQUESTS[number] if self.speaker == "client" else "event " + EVENTS[number]
        form = PAYLOADS.get(name)
        return name, size + (struct.unpack_from(form[0], held, form[1])[0] if form else 0)

    def greeting(self, held):
        """A message that precedes the records, of which all must be there."""
        sealed = len(held) > 1 and 0x14 <= held[0] <= 0x17 and held[1] == 3
        head = 5 if sealed else 8
        if len(held) < head:
            return None
        length = head + struct.unpack_from(">H" if sealed else "<I", held, 3 if sealed else 0)[0]
        if len(held) < length:
            return None
        if not sealed:
            return "%s of the %s" % (CONTROL[struct.unpack_from("<H", held, 4)[0]], self.speaker), length
        self.sealed += 1
        return "TLS %d of the %s" % (self.sealed, self.speaker), length


class Sessions:
    """Follows connections to the sessions that they continue."""

    def __init__(self):
        self.streams = {}  # of each box, session and speaker

    def passed(self, pair, side, name, message):
        """MESSAGE has passed on PAIR, whose sides are `client` and `box`."""
        if name == "TLS 1 of the client":
            claim = re.search(rb"rgpu-peer:([0-9a-f]{16}):([0-9a-f]{8})", message)
            if not claim or int(claim[2], 16) != RESUME_NUMBER:
                pair.client.opaque = pair.box.opaque = True
            else:
                pair.session = int(claim[1], 16)
        elif name == "GRANTED of the box":
            pair.session = struct.unpack_from("<Q", message, 8)[0]
        elif name == "TRANSPORT_PROPOSAL of the client":
            pair.bulk = b"tcp" in message[:16]
        elif name == "TRANSPORT_REPLY of the box" and message[8]:
            for at in (pair.client, pair.box):
                self.streams[(pair.target, pair.session, at.speaker)] = Stream() if pair.bulk else None
                self.begin(pair, at, 0)
        elif name == "RESUME of the client":
            pair.claim = struct.unpack_from("<Q", message, 12)[0]
        elif name == "RESUME of the box":
            self.begin(pair, pair.client, struct.unpack_from("<Q", message, 12)[0])
            self.begin(pair, pair.box, pair.claim)

    def begin(self, pair, side, position):
        """SIDE goes on with records, at POSITION of its stream."""
        stream = self.streams[(pair.target, pair.session, side.speaker)]
        pair.section = ""
        side.opaque = not stream
        if stream:
            side.stream, side.skip, side.records = stream, stream.position - position, True
