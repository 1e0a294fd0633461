#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rgpu-spawner takes orders of fixed size from one user, starts what its settings name as users of worker_uids, and
hands the descriptors of a worker out again to who comes after an rgpud that has gone."""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("BUILD", "build")
ORDER, REPLY = struct.Struct("=IIQIIIIII16sII2048s"), struct.Struct("=IIQIiiIII")
START, END, LIST, MEMBER, STORE = 1, 2, 3, 4, 5
WORKER, MPS, SUSPENDER = 1, 2, 3
HELLO, STARTED, FAILED, ENDED, LISTED, STORED, LIST_END = 1, 2, 3, 4, 5, 6, 7
ROOT = os.geteuid() == 0
PROCESSES = 1 << 40  # the first number of a process
REASONS = ["the user is not one of worker_uids", "the GPU is not shared by MPS", "an MPS supervisor's descriptors are pipes",
           "a suspender's output is a pipe", "a worker's descriptors are sockets and a pipe"]
count = failures = 0


def check(condition, what, got=None):
    global count, failures
    count += 1
    print(("ok" if condition else "not ok"), count, "-", what, flush=True)
    if not condition:
        failures += 1
        print(f"# got: {got}", file=sys.stderr)


def order(verb, number=0, kind=0, user=0, gpu=0, mps=0, act=0, pairs=0, version=2):
    return ORDER.pack(version, verb, number, kind, user, gpu, mps, act, 0, b"", pairs, 0, b"")


class Rgpud:
    """The other side of the spawner."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        while self.socket.connect_ex(path):  # until it listens
            time.sleep(0.01)

    def send(self, packet, fds=()):
        socket.send_fds(self.socket, [packet], list(fds))

    def receive(self):
        """A reply and its descriptors; None at the end."""
        packet, fds, _, _ = socket.recv_fds(self.socket, 4096, 8)
        if not packet:
            return None
        names = "version word number kind pid value user first last".split()
        return dict(zip(names, REPLY.unpack(packet)), fds=fds)

    def ask(self, *arguments, fds=(), **fields):
        self.send(order(*arguments, **fields), fds)
        return self.receive()


def worker_fds():
    """The worker's ends and rgpud's, as in spawner_orders.h; the test keeps them all."""
    control, refusals = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    read, write = os.pipe()
    state = os.memfd_create("state")
    return control, [control[1].fileno(), refusals[1].fileno(), write, control[0].fileno(), refusals[0].fileno(),
                     read, state], refusals


def refused(rgpud, what, **fields):
    control, fds, refusals = worker_fds()
    reply = rgpud.ask(START, PROCESSES + 20, fds=fields.pop("fds", fds), **fields)
    check(reply and reply["word"] == FAILED, what, reply)


def main(folder):
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "orders.sock")
    log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
    spawner = subprocess.Popen(
        [f"{BUILD}/bin/rgpu-spawner", "--standalone", "--devices", "sim:1", "--worker-program", f"{BUILD}/tests/stub-worker",
         "--sharing", "1:mps", "--orders", path, "--for", str(os.geteuid())], stderr=log)
    try:
        run(path, spawner)
    finally:
        spawner.terminate()
        check(spawner.wait(30) == 0, "it ends when it is told to")
        log.seek(0)
        text = log.read()
        for reason in REASONS:
            check(reason in text, f"the log has the reason: {reason}")
        if failures:
            print("".join("# " + line for line in text.splitlines(True)), file=sys.stderr)


def descriptors(pid):
    """What a process has open. It may close a file that it has just read."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return found


def run(path, spawner):
    rgpud = Rgpud(path)
    hello = rgpud.receive()
    check(hello["word"] == HELLO, "it says hello", hello)
    check((hello["first"], hello["last"]) == ((2000000000, 2000000999) if ROOT else (0, 0)),
          "with the users of workers, if it may change to them", hello)
    user = hello["first"]
    refused(rgpud, "a kind that there is not", kind=4, user=user)
    refused(rgpud, "a user beyond the range", kind=WORKER, user=hello["last"] + 1)
    if ROOT:
        refused(rgpud, "the user 0", kind=WORKER, user=0)
    refused(rgpud, "the user of an MPS daemon, on a GPU without", kind=WORKER, user=hello["last"], mps=1)
    refused(rgpud, "an MPS daemon on a GPU that is not shared so", kind=MPS, fds=[0, 1])
    null = os.open("/dev/null", os.O_RDWR)
    refused(rgpud, "files in place of an MPS supervisor's pipes", kind=MPS, gpu=1, fds=[null, null])
    if ROOT:
        refused(rgpud, "the user of an MPS daemon for a worker that is no client of it", kind=WORKER, user=hello["last"] - 1)
    refused(rgpud, "too few descriptors", kind=WORKER, user=user, fds=[0, 1])
    refused(rgpud, "files in place of sockets", kind=WORKER, user=user, fds=[null] * 7)
    refused(rgpud, "a suspender without workers", kind=SUSPENDER, fds=[0, 1])

    control, fds, refusals = worker_fds()
    started = rgpud.ask(START, PROCESSES, kind=WORKER, user=user, fds=fds)
    check(started["word"] == STARTED and started["number"] == PROCESSES and started["fds"], "a worker is started", started)
    status = open(f"/proc/{started['pid']}/status", encoding="utf-8").read()
    check(f"Uid:\t{user}\t{user}\t{user}\t{user}" in status, "as its user", status)
    check("CapPrm:\t0000000000000000" in status and "NoNewPrivs:\t1" in status, "without a capability", status)
    has = descriptors(started["pid"])
    check(set(range(8)) <= set(has), "with its descriptors", has)
    check(not [fd for fd in has if fd > 7 and not has[fd].startswith("/")], "and none of the spawner's", has)
    command = open(f"/proc/{started['pid']}/cmdline", encoding="utf-8").read().split("\0")
    check(command[1].endswith("libcuda-sim.so") and command[2:] == ["", "", "refuse", ""],
          "its libraries and its filter are those of the spawner's settings", command)
    rgpud.send(order(MEMBER, PROCESSES))
    refused(rgpud, "a file in place of a suspender's pipe", kind=SUSPENDER, fds=[null, null])
    control_twice, fds_twice, refusals_twice = worker_fds()
    twice = rgpud.ask(START, PROCESSES, kind=WORKER, user=user, fds=fds_twice)
    check(twice["word"] == FAILED, "a number serves once", twice)
    control_low, fds_low, refusals_low = worker_fds()
    check(rgpud.ask(START, PROCESSES - 1, kind=WORKER, user=user, fds=fds_low)["word"] == FAILED, "a number of rgpud's own is no process's")

    other = Rgpud(path)
    check(other.receive() is None, "a second rgpud is turned away while there is one")
    if ROOT:
        code = ("import socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET)\n"
                "try: s.connect(sys.argv[1])\nexcept PermissionError: sys.exit(0)\nsys.exit(not s.recv(100) == b'')")
        check(subprocess.run(["setpriv", "--reuid", "2000000000", "--clear-groups", sys.executable, "-c", code, path],
                             check=False).returncode == 0, "another user does not get in")

    record, box = os.memfd_create("record"), os.memfd_create("box")
    rgpud.send(order(STORE, PROCESSES), [null])
    rgpud.send(order(STORE, PROCESSES), [record, null])
    rgpud.send(order(STORE, 3), [box])
    rgpud.send(order(STORE, 4), [box])
    rgpud.send(order(STORE, 4))
    rgpud.send(order(STORE, PROCESSES + 10), [box])
    # It ends in the middle of an answer that it does not read.
    rgpud.send(order(LIST))
    rgpud.send(order(STORE, 5), [box])
    rgpud.socket.close()
    again = Rgpud(path)
    again.receive()
    again.send(order(LIST))
    listed, stored, own, last, end = [again.receive() for _ in range(5)]
    check(stored["word"] == STORED and stored["number"] == PROCESSES and
          [os.fstat(fd).st_ino for fd in stored["fds"]] == [os.fstat(fd).st_ino for fd in (record, null)],
          "and what was stored for it last", stored)
    check(own["word"] == STORED and own["number"] == 3 and os.fstat(own["fds"][0]).st_ino == os.fstat(box).st_ino,
          "and what rgpud stored for itself", own)
    check(last["word"] == STORED and last["number"] == 5, "also with its last order", last)
    check(listed["word"] == LISTED and (listed["number"], listed["pid"]) == (PROCESSES, started["pid"]), "another rgpud finds the worker", listed)
    check(end["word"] == LIST_END, "and no more", end)
    check(len(listed["fds"]) == 5, "with its pidfd and four others", listed)
    check(os.readlink(f"/proc/self/fd/{listed['fds'][1]}") == f"/proc/{started['pid']}", "its directory in /proc", listed)
    same = socket.socket(fileno=listed["fds"][2])
    same.settimeout(60)
    control[1].send(b"as before")
    check(same.recv(100) == b"as before", "the same control socket")
    signal.pidfd_send_signal(listed["fds"][0], 0)

    again.send(order(END, PROCESSES))
    ended = again.receive()
    check(ended["word"] == ENDED and ended["number"] == PROCESSES and os.WTERMSIG(ended["value"]) == signal.SIGKILL,
          "a worker is ended, and how is reported", ended)
    again.send(order(STORE, 3))
    again.send(order(STORE, 5))
    again.send(order(LIST))
    check(again.receive()["word"] == LIST_END, "and then there is none, and nothing is stored")

    for what, packet in (("a short order", b"x" * 100), ("a longer one", order(LIST) + b"x"),
                         ("more to store than there is room for", (order(STORE, 1), [null] * 6)),
                         ("one of another version", order(LIST, version=1)), ("an unknown one", order(9))):
        again.send(*packet if isinstance(packet, tuple) else (packet,))
        check(again.receive() is None, f"{what} ends the connection")
        again = Rgpud(path)
        check(again.receive()["word"] == HELLO, "and another one serves")
    again.socket.close()
    check(spawner.poll() is None, "the spawner lives on")


with tempfile.TemporaryDirectory(prefix="rgpu-test.") as name:
    main(name)
print(f"1..{count}")
sys.exit(failures > 0)
