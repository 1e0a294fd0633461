#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares a lone broker with three that have one pool through etcd: broker_replicated.py BUILD [ROUNDS]

Each round measures both in random order, on this host: acquires of one client, of eight at once, and the time from kill -9 of the
leader until the next acquire is answered. Boxes are simulated (broker.py). A table on standard error, JSON lines on standard output."""
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from broker import Boxes, Line, disk, percentile, share, timed

BOXES, CLIENTS = 10, 8
SAMPLES = int(os.environ.get("BENCH_SAMPLES", "500"))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def programs():
    """A list to which started processes are added; they are ended afterwards."""
    running = []
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def start_etcd(directory, running):
    """Three members; returns their URLs."""
    ports = free_ports(6)
    peers = ",".join("m%d=http://127.0.0.1:%d" % (i, ports[i + 3]) for i in range(3))
    for i in range(3):
        client, peer = ("http://127.0.0.1:%d" % ports[i + offset] for offset in (0, 3))
        running.append(subprocess.Popen(
            ["etcd", "--name", "m%d" % i, "--data-dir", "%s/m%d" % (directory, i), "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", peers, "--election-timeout", "500"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    urls = ["http://127.0.0.1:%d" % port for port in ports[:3]]
    for url in urls:
        while True:
            try:
                if b"true" in urllib.request.urlopen(url + "/health", timeout=2).read():
                    break
            except OSError:
                time.sleep(0.05)
    return urls


def start_broker(build, directory, number, urls, running):
    """Returns the process and its socket, once it serves or waits."""
    state, path = "%s/state%d" % (directory, number), "%s/socket%d" % (directory, number)
    os.mkdir(state)
    broker = subprocess.Popen(
        [build + "/bin/rgpu-brokerd", "--listen", "127.0.0.1:0", "--socket", path, "--state-dir", state, "--cluster-key",
         directory + "/key", "--munge", "no", "--log-level", "error"] + (["--replication", ",".join(urls)] if urls else []),
        stdout=subprocess.PIPE, text=True)
    running.append(broker)
    return broker, path


def find_leader(brokers):
    while True:
        for broker, path in brokers:
            if broker.poll() is None and os.path.exists(path):
                try:
                    status, answer = Line(path).call("GET", "/healthz")
                    if status == 200 and answer["status"] == "ok":
                        return broker, path
                except OSError:
                    pass
        time.sleep(0.01)


def take(line, key, times):
    elapsed, status, answer = timed(line, "POST", "/v1/leases", share(key))
    while status == 409:  # the boxes are behind with their confirmations
        time.sleep(0.002)
        elapsed, status, answer = timed(line, "POST", "/v1/leases", share(key))
    assert status == 200, answer
    times.append(elapsed)
    line.call("DELETE", "/v1/leases/" + answer["lease"]["id"])


def acquires(path, clients):
    times = []

    def client(number):
        line = Line(path)
        for i in range(SAMPLES):
            take(line, "%d/%d/%d" % (clients, number, i), times)
    threads = [threading.Thread(target=client, args=[number]) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def take_over(leader, brokers):
    """Seconds from the leader's end until another broker has answered an acquire."""
    start = time.perf_counter()
    leader.kill()
    while True:
        line = Line(find_leader(brokers)[1])
        if line.call("POST", "/v1/leases", {"owner": 1, "queue": True, "request": {"gpus": [{"count": 1}]}})[0] < 300:
            return time.perf_counter() - start


def measure(build, replicated):
    with tempfile.TemporaryDirectory(prefix="rgpu-bench.") as directory, programs() as running:
        subprocess.run([build + "/bin/rgpu-brokerd", "--make-key", directory + "/key"], check=True, stdout=subprocess.DEVNULL)
        urls = start_etcd(directory, running) if replicated else []
        brokers = [start_broker(build, directory, number, urls, running) for number in range(3 if replicated else 1)]
        leader, path = find_leader(brokers)
        Boxes(path, BOXES).start()
        row = {"brokers": len(brokers)}
        for clients in (1, CLIENTS):
            times = acquires(path, clients)
            row["p50_%d_ms" % clients], row["p99_%d_ms" % clients] = percentile(times, 0.5), percentile(times, 0.99)
        if replicated:
            row["take_over_s"] = take_over(leader, brokers)
        return {name: round(value, 3) for name, value in row.items()}


def main():
    build, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print("one durable write of 4 KiB on this disk: p50 %.2f ms, p99 %.2f ms" % disk(), file=sys.stderr)
    ratios = []
    for number in range(rounds):
        rows = {}
        for replicated in random.sample([False, True], 2):
            rows[replicated] = measure(build, replicated)
            print(json.dumps(dict(rows[replicated], round=number, load=os.getloadavg()[0])), flush=True)
        ratios.append([rows[True][name] / rows[False][name] for name in ("p99_1_ms", "p99_%d_ms" % CLIENTS)])
        print("round %d: one %s; three %s; p99 to one: %.2f, %d clients %.2f" % (
            number, rows[False], rows[True], ratios[-1][0], CLIENTS, ratios[-1][1]), file=sys.stderr)
    print("acquire p99 of three to one, median of %d rounds: %.2f; %d clients: %.2f" % (
        rounds, statistics.median(row[0] for row in ratios), CLIENTS, statistics.median(row[1] for row in ratios)), file=sys.stderr)


main()
