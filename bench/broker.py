#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures how fast the broker grants and releases leases, by size of the pool: broker.py BUILD [BOXES...]

Boxes are simulated: each keeps a connection to the broker, as rgpud does, and confirms ends at
once. The pool is filled to ten leases per eight GPUs (whole GPUs and shares), then leases are
taken and released beside them, and every request is timed. A table on standard error, one JSON
line per pool on standard output. The disk's share is part of it: the broker commits every change.
"""
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

GPUS = 8
GB = 1 << 30
SAMPLES = int(os.environ.get("BENCH_SAMPLES", "2000"))


def message(method, path, body):
    text = json.dumps(body).encode() if method != "GET" else b""
    return ("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n" % (method, path, len(text))).encode() + text


class Line:
    """One connection, to a path or to host and port; answers are complete JSON bodies."""

    def __init__(self, address):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address)
        self.buffer = b""

    def send(self, method, path, body):
        self.socket.sendall(message(method, path, body))

    def take(self):
        """A whole answer out of the buffer, or None."""
        head, separator, rest = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return None
        size = int(next(line.split(b":")[1] for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length")))
        if len(rest) < size:
            return None
        self.buffer = rest[size:]
        return int(head.split()[1]), json.loads(rest[:size] or b"{}")

    def take_more(self):
        """The same after the next bytes have come."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the broker hung up")
        self.buffer += data
        return self.take()

    def call(self, method, path, body=None):
        self.send(method, path, body or {})
        answer = self.take()
        while not answer:
            answer = self.take_more()
        return answer


class Boxes(threading.Thread):
    """All boxes on one thread."""

    def __init__(self, path, count):
        super().__init__(daemon=True)
        self.selector = selectors.DefaultSelector()
        for number in range(count):
            line = Line(path)
            name = "box%04d" % number
            gpus = [{"uuid": "GPU-%s-%d" % (name, i), "index": i, "model": "NVIDIA H200",
                     "memory": 140 * GB, "context": GB // 2,
                     "mode": "shared" if i < 4 else "exclusive"} for i in range(GPUS)]
            status, answer = line.call("PUT", "/v1/boxes/" + name, {
                "instance": "i", "addresses": "10.0.0.1:7300", "gpus": gpus})
            assert status == 200, answer
            self.report(line, name, [])
            self.selector.register(line.socket, selectors.EVENT_READ, (line, name))

    @staticmethod
    def report(line, name, ended):
        line.send("POST", "/v1/boxes/%s/sync" % name,
                  {"instance": "i", "sessions": [], "ended": ended})

    def run(self):
        while True:
            for key, _ in self.selector.select():
                line, name = key.data
                try:
                    answer = line.take_more()
                    if answer:
                        self.report(line, name, [order["lease"] for order in answer[1]["revoke"]])
                except ConnectionError:
                    return


def timed(line, *request):
    start = time.perf_counter()
    status, answer = line.call(*request)
    return (time.perf_counter() - start) * 1e3, status, answer


def share(key):
    return {"key": key, "owner": 1000, "ticket": True, "request": {
        "policy": "spread", "gpus": [{"count": 1, "mode": "shared", "memory": 10 * GB}]}}


def whole(key):
    return {"key": key, "owner": 1000, "ticket": True, "request": {"gpus": [{"count": 1}]}}


def percentile(values, share_of):
    return sorted(values)[min(len(values) - 1, int(len(values) * share_of))]


def metrics(line):
    line.send("GET", "/metrics", {})
    buffer = b""
    while b"process_start_time_seconds " not in buffer or not buffer.endswith(b"\n"):
        buffer += line.socket.recv(1 << 20)
    return {name: float(value) for name, value in
            (row.split(" ") for row in buffer.decode().split("\n")
             if row[:5] in ("rgpu_", "proce") and "{" not in row)}


def measure(build, count):
    with tempfile.TemporaryDirectory(prefix="rgpu-bench.") as directory:
        key, path = directory + "/key", directory + "/socket"
        program = build + "/bin/rgpu-brokerd"
        subprocess.run([program, "--make-key", key], check=True, stdout=subprocess.DEVNULL)
        broker = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--socket", path, "--state-dir", directory,
             "--cluster-key", key, "--munge", "no", "--log-level", "error",
             "--synchronous", os.environ.get("BENCH_SYNCHRONOUS", "full")],
            stdout=subprocess.PIPE, text=True)
        try:
            next(row for row in broker.stdout if "is ready" in row)
            Boxes(path, count).start()
            return measure_pool(Line(path), path, count)
        finally:
            broker.kill()
            broker.wait()


def measure_pool(line, path, count):
    filled = [line.call("POST", "/v1/leases", (share if i % 10 < 7 else whole)("fill/%d" % i))[0]
              for i in range(count * 10)]
    granted = filled.count(200)
    acquire, release = [], []
    for i in range(SAMPLES):
        for make in (share, whole):
            request = make("%s/%d" % (make.__name__, i))
            elapsed, status, answer = timed(line, "POST", "/v1/leases", request)
            while status == 409:  # the simulated boxes are behind with their confirmations
                time.sleep(0.005)
                elapsed, status, answer = timed(line, "POST", "/v1/leases", request)
            if status != 200:
                raise RuntimeError("not granted: %s" % answer)
            acquire.append(elapsed)
            elapsed, status, _ = timed(line, "DELETE", "/v1/leases/" + answer["lease"]["id"])
            release.append(elapsed)
    result = {"boxes": count, "gpus": count * GPUS, "leases": granted, "samples": len(acquire)}
    for name, values in (("acquire", acquire), ("release", release)):
        result[name + "_p50_ms"] = round(percentile(values, 0.5), 3)
        result[name + "_p99_ms"] = round(percentile(values, 0.99), 3)
        result[name + "_max_ms"] = round(max(values), 3)
    result.update(measure_waiting(line, count))
    result["resident_mib"] = round(metrics(Line(path))["process_resident_memory_bytes"] / (1 << 20), 1)
    return result


def measure_waiting(line, count):
    """Releases while a thousand requests of a hundred kinds wait for more than is free."""
    held = []
    while True:  # take the last whole GPUs, so that later requests must wait
        status, answer = line.call("POST", "/v1/leases", whole("last/%d" % len(held)))
        if status != 200:
            break
        held.append(answer["lease"]["id"])
    for i in range(1000):
        line.call("POST", "/v1/leases", {
            "key": "wait/%d" % i, "owner": 1, "queue": True,
            "request": {"min_memory": i % 5 * GB,
                        "gpus": [{"count": min(1 + i % 20, count * 4)}]}})
    times = [timed(line, "DELETE", "/v1/leases/" + lease)[0] for lease in held[:300]]
    return {"waiting_release_p50_ms": round(percentile(times, 0.5), 3),
            "waiting_release_p99_ms": round(percentile(times, 0.99), 3)} if times else {}


def disk():
    """What one small durable write costs where the database lies."""
    times = []
    with tempfile.NamedTemporaryFile(prefix="rgpu-bench.") as file:
        for _ in range(300):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - start) * 1e3)
    return percentile(times, 0.5), percentile(times, 0.99)


def main():
    build = sys.argv[1]
    print("one durable write of 4 KiB on this disk: p50 %.2f ms, p99 %.2f ms" % disk(),
          file=sys.stderr)
    print("%6s %6s %7s %18s %18s %18s %9s" % (
        "boxes", "gpus", "leases", "acquire p50/p99 ms", "release p50/p99 ms",
        "1000 waiting: rel.", "RSS MiB"), file=sys.stderr)
    for count in [int(word) for word in sys.argv[2:]] or [1, 10, 100, 300, 1000]:
        row = measure(build, count)
        print("%6d %6d %7d %10.2f / %5.2f %10.2f / %5.2f %10.2f / %5.2f %9.1f" % (
            row["boxes"], row["gpus"], row["leases"], row["acquire_p50_ms"], row["acquire_p99_ms"],
            row["release_p50_ms"], row["release_p99_ms"], row.get("waiting_release_p50_ms", 0),
            row.get("waiting_release_p99_ms", 0), row["resident_mib"]), file=sys.stderr)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
