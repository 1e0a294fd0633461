# SPDX-License-Identifier: BSD-3-Clause
"""usage: alter_record.py SOCKET HOW [WHAT]: in place of rgpud, changes what rgpu-spawner keeps of the first session, of the
last memory that one shares (export), or of the first MPS supervisor (mps)."""
import fcntl
import os
import socket
import struct
import sys
import time

ORDER, REPLY = struct.Struct("=IIQIIIIII16sII2048s"), struct.Struct("=IIQIiiIII")
LIST, STORE = 3, 5
LISTED, STORED, LIST_END = 5, 6, 7
WORKER, MPS = 1, 2
VERSION, EXPORTS = 2, 33
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def file_of(data, seals=SEALS):
    fd = os.memfd_create("record", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def with_size(data):
    return struct.pack("<I", len(data) - 8) + data[4:]


def device(data):
    """Where the first GPU's place in the lease is, behind its two names."""
    first = data.index(b"GPU-")
    return data.index(b"GPU-", first + 1) + 40


def alter(how, data, others):
    """The descriptors that are stored then, in place of the record and the others."""
    at = device(data)
    if how == "garbage":
        return [file_of(os.urandom(len(data)))] + others
    if how == "short":
        return [file_of(with_size(data[:-1]))] + others
    if how == "long":
        return [file_of(with_size(data + b"\0"))] + others
    if how == "writable":
        return [file_of(data, 0)] + others
    if how == "no-account":
        return [file_of(data)]
    if how == "other-account":
        return [file_of(data), others[1], others[0]] + others[2:]
    changed = {
        "release": lambda: data[:8] + b"\1" * 8 + data[16:],
        "number": lambda: data[:16] + b"\0" * 8 + data[24:],
        "obstacle": lambda: with_size(data[:24] + struct.pack("<I", 3) + b"why" + data[28:]),
        "gpu": lambda: data.replace(b"GPU-", b"GPU+"),
        "budget": lambda: data[:at + 4] + b"\0" * 7 + b"\1" + data[at + 12:],
    }[how]()
    return [file_of(changed)] + others


def alter_export(how, data, others):
    if how == "garbage":
        return [file_of(os.urandom(len(data)))]
    if how == "descriptor":
        return [file_of(data), os.open("/dev/zero", os.O_RDWR)]
    lease = 16 + 64 + 1
    size = lease + 4 + struct.unpack_from("<I", data, lease)[0] + 3 * 8 + 4
    changed = {
        "release": lambda: data[:8] + b"\1" * 8 + data[16:],
        "token": lambda: data[:16] + b"\0" * 8 + data[24:],
        "memory": lambda: data[:size] + b"\0" * 7 + b"\1" + data[size + 8:],
    }[how]()
    return [file_of(changed)] + others


def alter_mps(how, data, others):
    if how == "garbage":
        return [file_of(os.urandom(len(data)))] + others
    if how == "descriptor":
        return [file_of(data), others[1], others[0], others[2]]
    return [file_of(data[:8] + b"\1" * 8 + data[16:] if how == "release" else data.replace(b"GPU-", b"GPU+"))] + others


def main(path, how, what="session"):
    spawner = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    while spawner.connect_ex(path):
        time.sleep(0.01)
    spawner.recv(4096)

    def order(verb, number=0, fds=()):
        socket.send_fds(spawner, [ORDER.pack(VERSION, verb, number, 0, 0, 0, 0, 0, 0, b"", 0, 0, b"")], list(fds))

    order(LIST)
    kinds, kept = {}, []
    while True:
        packet, fds, _, _ = socket.recv_fds(spawner, 4096, 8)
        _, word, number, kind = REPLY.unpack(packet)[:4]
        if word == LIST_END:
            break
        if word == LISTED:
            kinds[number] = kind
        elif what == {WORKER: "session", MPS: "mps"}.get(kinds.get(number), "export" if number >= EXPORTS else ""):
            kept.append((number, fds))
    number, fds = max(kept) if what == "export" else kept[0]
    data = os.pread(fds[0], 1 << 20, 0)
    order(STORE, number, {"session": alter, "export": alter_export, "mps": alter_mps}[what](how, data, fds[1:]))


main(*sys.argv[1:])
