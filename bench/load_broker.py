# SPDX-License-Identifier: BSD-3-Clause
"""Starts, queries and observes a broker and a pool of simulated boxes for bench/broker_load.py.

Requests go as those of real boxes and nodes do: over TCP, a connection and a signature for each; a box keeps
its connection and signs every report. The boxes are a process of their own.
"""
import hashlib
import hmac
import http.client
import json
import multiprocessing
import os
import secrets
import selectors
import subprocess
import tempfile
import time

from broker import GB, Line

ADMIN = ("admin", bytes(31) + b"\1")
TICK = os.sysconf("SC_CLK_TCK")


def signed(method, path, body, scheme, key, secret):
    text = "%s %s\n%s\n" % (method, path, hashlib.sha256(body).hexdigest())
    moment, nonce = int(time.time()), secrets.token_hex(16)
    mac = hmac.new(secret, (text + "%d\n%s" % (moment, nonce)).encode(), "sha256").hexdigest()
    return {"Authorization": "%s %s %d %s %s" % (scheme, key, moment, nonce, mac),
            "Content-Type": "application/json",
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


def derive(secret, box):
    """A box's key, as common/security/ticket_keys.c makes it of the cluster's."""
    return hmac.new(secret, b"rgpu box ticket key\n" + box.encode(), "sha256").digest()


class Pool:
    """A broker with COUNT boxes of eight GPUs, for a `with`. SYNC_DELAY: milliseconds that each sync of its disk
    takes; SMALL_DISK: MiB of a file system of its own, which needs root."""

    def __init__(self, build, count=0, sync_delay=0, small_disk=0, directory=None):
        self.build, self.count = build, count
        self.sync_delay, self.small_disk = sync_delay, small_disk
        self.temporary = None if directory else tempfile.TemporaryDirectory(prefix="rgpu-bench.")
        self.directory = directory or self.temporary.name
        self.state = self.directory + "/state"
        self.boxes = self.broker = None

    def __enter__(self):
        try:
            self.start()
            if self.count:
                self.start_boxes()
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        for process in (self.boxes, self.broker):
            if process:
                process.kill()
        if self.broker:
            self.broker.wait()
        if self.temporary:
            self.temporary.cleanup()

    def command(self):
        program = [self.build + "/bin/rgpu-brokerd", "--listen", "127.0.0.1:0", "--socket",
                   self.directory + "/socket", "--state-dir", self.state, "--munge", "no",
                   "--cluster-key", self.directory + "/cluster.key", "--key-file",
                   self.directory + "/api.keys", "--log-level", "error", "--away-after", "10min",
                   "--max-connections-per-address", "100000", "--history", "100000h",
                   "--synchronous", os.environ.get("BENCH_SYNCHRONOUS", "full")]
        if not self.small_disk:
            return program
        return ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=%dm tmpfs "$0" && exec "$@"' %
                self.small_disk, self.state] + program

    def start(self):
        """Returns how long it took until it was ready."""
        os.makedirs(self.state, exist_ok=True)
        key, keys = self.directory + "/cluster.key", self.directory + "/api.keys"
        if not os.path.exists(key):
            subprocess.run([self.build + "/bin/rgpu-brokerd", "--make-key", key], check=True,
                           stdout=subprocess.DEVNULL)
            with open(os.open(keys, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write("%s %s\n" % (ADMIN[0], ADMIN[1].hex()))
        environment = dict(os.environ)
        if self.sync_delay:
            environment.update(LD_PRELOAD=os.path.abspath(self.build + "/tests/sync-gate.so"),
                               SYNC_DELAY_MS=str(self.sync_delay))
        start = time.perf_counter()
        self.broker = subprocess.Popen(self.command(), stdout=subprocess.PIPE, text=True,
                                       env=environment)
        for line in self.broker.stdout:
            if line.startswith("listening on") and "unix:" not in line:
                self.address = ("127.0.0.1", int(line.rsplit(":", 1)[1]))
            if "is ready" in line:
                break
        else:
            raise RuntimeError("the broker does not start")
        took = time.perf_counter() - start
        # It rejects signatures made in the second of its start.
        while ask(self.address, "GET", "/healthz")[0] == 401 or \
                ask(self.address, "GET", "/v1/whoami")[0] == 401:
            time.sleep(0.05)
        return took

    def start_boxes(self):
        line = open(self.directory + "/cluster.key").read().split()
        names = ["box%04d" % number for number in range(self.count)]
        keys = [(name, "%s %s" % (line[0], derive(bytes.fromhex(line[1]), name).hex()))
                for name in names]
        ready = multiprocessing.Event()
        self.boxes = multiprocessing.Process(target=run_boxes, daemon=True,
                                             args=(self.address, keys, ready))
        self.boxes.start()
        if not ready.wait(300):
            raise RuntimeError("the boxes do not come up")

    def cpu_seconds(self):
        """Processor time of the broker so far."""
        fields = open("/proc/%d/stat" % self.broker.pid).read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def file(self, name):
        """A file of its state directory, as it sees it."""
        return "/proc/%d/root%s/%s" % (self.broker.pid, self.state, name)

    def wal_mib(self):
        return os.stat(self.file("pool.sqlite-wal")).st_size / (1 << 20)

    def take(self, key, ticket=True, **request):
        request.setdefault("gpus", [{"count": 1}])
        status, text = ask(self.address, "POST", "/v1/leases", {
            "key": key, "owner": 1, "ticket": ticket, "queue": True, "request": request})
        if status >= 300:
            raise RuntimeError("%d %s" % (status, text))
        return json.loads(text)["lease"]

    def await_grant(self, lease):
        while lease["state"] == "queued":
            lease = json.loads(ask(self.address, "GET", "/v1/leases/%s?wait=20" % lease["id"])[1])["lease"]
        return lease

    def release(self, lease):
        return ask(self.address, "DELETE", "/v1/leases/" + lease["id"])[0]
