#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a pool's size, its waiters and those who look at it cost: broker_load.py BUILD [BOXES...]

Requests go as those of real boxes and nodes do: over TCP, a connection and a signature for each acquire
and release; a box keeps its connection and signs every report. The boxes are a process of their own. For
each number of boxes the broker is measured quiet, with a thousand different requests in the queue, and with
one status page open, in turns within one run. One JSON line for each, times in milliseconds; a table of
ratios, to the first row, on standard error, since the times are those of the machine and its load.
"""
import hashlib
import hmac
import http.client
import json
import multiprocessing
import os
import resource
import secrets
import selectors
import subprocess
import sys
import tempfile
import threading
import time

from broker import GB, Line, percentile

SAMPLES = int(os.environ.get("BENCH_SAMPLES", "400"))
ADMIN = ("admin", bytes(31) + b"\1")


def signed(method, path, body, scheme, key, secret):
    text = "%s %s\n%s\n" % (method, path, hashlib.sha256(body).hexdigest())
    moment, nonce = int(time.time()), secrets.token_hex(16)
    mac = hmac.new(secret, (text + "%d\n%s" % (moment, nonce)).encode(), "sha256").hexdigest()
    return {"Authorization": "%s %s %d %s %s" % (scheme, key, moment, nonce, mac),
            "Content-SHA256": hashlib.sha256(body).hexdigest()}


def ask(address, method, path, body=None):
    """One request on a connection of its own, by the administrator's key."""
    data = json.dumps(body).encode() if body is not None else b""
    connection = http.client.HTTPConnection(*address, timeout=120)
    try:
        connection.request(method, path, data or None,
                           signed(method, path, data, "Rgpu", *ADMIN))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Box(Line):
    def __init__(self, address, name, key_line):
        super().__init__(address)
        self.name = name
        self.key, secret = key_line.split()[:2]
        self.secret = hmac.new(bytes.fromhex(secret), b"rgpu box requests\n", "sha256").digest()

    def send(self, method, path, body):
        data = json.dumps(body).encode()
        headers = signed(method, path, data, "RgpuBox " + self.name, self.key, self.secret)
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: b", "Content-Length: %d" % len(data)]
        lines += ["%s: %s" % item for item in headers.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + data)

    def register(self):
        self.call("PUT", "/v1/boxes/" + self.name, {
            "instance": "i", "addresses": "10.0.0.1:7300", "gpus": [
                {"uuid": "GPU-%s-%d" % (self.name, i), "index": i, "model": "NVIDIA H200",
                 "memory": 140 * GB, "context": GB // 2, "mode": "exclusive"} for i in range(8)]})
        self.report([])

    def report(self, ended):
        self.send("POST", "/v1/boxes/%s/sync" % self.name,
                  {"instance": "i", "sessions": [], "ended": ended})


def run_boxes(address, keys, ready):
    selector = selectors.DefaultSelector()
    for name, line in keys:
        box = Box(address, name, line)
        box.register()
        selector.register(box.socket, selectors.EVENT_READ, box)
    ready.set()
    while True:
        for key, _ in selector.select():
            answer = key.data.take_more()
            if answer:
                key.data.report([order["lease"] for order in answer[1].get("revoke", [])])


def page(address, stop):
    """One status page: what it asks for, once a second at most."""
    last = -1
    while not stop.wait(1):
        path = "/v1/overview?limit=25&after=%d&wait=10" % last
        last = json.loads(ask(address, "GET", path)[1])["last"]


def measure(address, tag):
    times = {"acquire": [], "release": [], "look": []}
    for i in range(SAMPLES):
        body = {"key": "%s/%d" % (tag, i), "owner": 1, "ticket": True,
                "request": {"gpus": [{"count": 1}]}}
        start = time.perf_counter()
        status, text = ask(address, "POST", "/v1/leases", body)
        times["acquire"].append(time.perf_counter() - start)
        if status != 200:
            raise RuntimeError("not granted: %s" % text)
        lease = json.loads(text)["lease"]["id"]
        start = time.perf_counter()
        ask(address, "GET", "/v1/leases/" + lease)
        times["look"].append(time.perf_counter() - start)
        start = time.perf_counter()
        ask(address, "DELETE", "/v1/leases/" + lease)
        times["release"].append(time.perf_counter() - start)
    result = {}
    for name, values in times.items():
        for part in (50, 99):
            result["%s_p%d" % (name, part)] = round(percentile(values, part / 100) * 1e3, 3)
    return result


def with_page(address):
    stop = threading.Event()
    thread = threading.Thread(target=page, args=(address, stop))
    thread.start()
    try:
        return measure(address, "page")
    finally:
        stop.set()
        thread.join()


def add_waiters(address):
    """A thousand requests of which none is like another, for more memory than there is free."""
    for i in range(1000):
        ask(address, "POST", "/v1/leases", {
            "key": "wait/%d" % i, "owner": 1, "queue": True, "request": {
                "box": "box0000", "gpus": [{"count": 1 + i % 8}], "min_memory": i}})


def start_broker(build, directory):
    key, keys = directory + "/cluster.key", directory + "/api.keys"
    program = build + "/bin/rgpu-brokerd"
    subprocess.run([program, "--make-key", key], check=True, stdout=subprocess.DEVNULL)
    with open(os.open(keys, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write("%s %s\n" % (ADMIN[0], ADMIN[1].hex()))
    broker = subprocess.Popen(
        [program, "--listen", "127.0.0.1:0", "--socket", "", "--state-dir", directory, "--munge", "no",
         "--cluster-key", key, "--key-file", keys, "--log-level", "error", "--away-after", "10min",
         "--max-connections-per-address", "100000", "--synchronous",
         os.environ.get("BENCH_SYNCHRONOUS", "full")], stdout=subprocess.PIPE, text=True)
    for line in broker.stdout:
        if line.startswith("listening on"):
            port = int(line.rsplit(":", 1)[1])
        if "is ready" in line:
            # It takes no signature from the second of its start.
            while ask(("127.0.0.1", port), "GET", "/v1/boxes")[0] != 200:
                time.sleep(0.05)
            return broker, ("127.0.0.1", port)
    raise RuntimeError("the broker does not start")


def derive(secret, box):
    """A box's key, as common/ticket_keys.c makes it of the cluster's."""
    return hmac.new(secret, b"rgpu box ticket key\n" + box.encode(), "sha256").digest()


def keys_of(directory, count):
    line = open(directory + "/cluster.key").read().split()
    names = ["box%04d" % number for number in range(count)]
    return [(name, "%s %s" % (line[0], derive(bytes.fromhex(line[1]), name).hex()))
            for name in names]


def measure_pool(build, count):
    with tempfile.TemporaryDirectory(prefix="rgpu-bench.") as directory:
        broker, address = start_broker(build, directory)
        ready = multiprocessing.Event()
        boxes = multiprocessing.Process(target=run_boxes, daemon=True,
                                        args=(address, keys_of(directory, count), ready))
        try:
            boxes.start()
            if not ready.wait(300):
                raise RuntimeError("the boxes do not come up")
            yield "quiet", measure(address, "quiet")
            yield "page", with_page(address)
            hold = ask(address, "POST", "/v1/leases", {
                "key": "hold", "owner": 1,
                "request": {"box": "box0000", "gpus": [{"count": 8}]}})
            assert hold[0] == 200, hold
            add_waiters(address)
            yield "waiters", measure(address, "waiters")
            wal = os.stat(directory + "/pool.sqlite-wal").st_size
            yield "wal", {"wal_mib": round(wal / (1 << 20), 1)}
        finally:
            boxes.kill()
            broker.kill()
            broker.wait()


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    first = None
    for count in [int(word) for word in sys.argv[2:]] or [10, 100, 1000, 5000]:
        for case, row in measure_pool(sys.argv[1], count):
            print(json.dumps(dict(boxes=count, case=case, **row)), flush=True)
            if case == "wal":
                continue
            first = first or row
            print("%5d boxes %-8s" % (count, case) + "".join(
                "  %s %5.2f" % (name, row[name] / first[name]) for name in sorted(row)),
                file=sys.stderr)


if __name__ == "__main__":
    main()
