# SPDX-License-Identifier: BSD-3-Clause
"""A broker that is killed and started again, clients that repeat what got no answer, and boxes
that notice when a GPU is given to two leases; standard library only."""
import atexit
import http.client
import os
import random
import signal
import subprocess
import threading
import time

import check_invariants
from pool import Api, FakeBox, Refused

GB = 1 << 30


class Broker:
    """Runs rgpu-brokerd; its state directory stays over restarts."""

    def __init__(self, build, directory, *options):
        self.program = os.path.join(build, "bin", "rgpu-brokerd")
        self.state = os.path.join(directory, "state")
        self.socket = os.path.join(directory, "broker.sock")
        self.key = os.path.join(directory, "cluster.key")
        self.log = os.path.join(directory, "broker.log")
        self.options = list(options)
        self.database = os.path.join(self.state, "pool.sqlite")
        os.makedirs(self.state, exist_ok=True)
        if not os.path.exists(self.key):
            subprocess.run([self.program, "--make-key", self.key], check=True,
                           stdout=subprocess.DEVNULL)
        self.process = None
        atexit.register(self.end)

    def end(self):
        if self.process and self.alive():
            self.process.kill()

    def start(self, fault=None, expect_ready=True):
        environment = dict(os.environ)
        environment.pop("RGPU_FAULT", None)
        if fault:
            environment["RGPU_FAULT"] = fault
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [self.program, "--listen", "127.0.0.1:0", "--socket", self.socket, "--state-dir",
                 self.state, "--cluster-key", self.key, "--munge", "no", "--synchronous",
                 "normal", "--heartbeat", "1s", "--away-after", "10s", "--log-level", "warn",
                 *self.options], env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        for line in self.process.stdout:
            if "is ready" in line:
                return True
        self.process.wait()
        return False

    def alive(self):
        return self.process.poll() is None

    def kill(self, number=signal.SIGKILL):
        if self.alive():
            self.process.send_signal(number)
        self.process.wait()
        self.process.stdout.close()


class WatchfulBox(FakeBox):
    """Knows which GPUs its sessions use, and complains when two leases use one exclusively."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.using = {}
        self.complaints = []
        self.guard = threading.Lock()

    def open_lease(self, lease):
        with self.guard:
            mine = {(gpu["gpu"], gpu["mode"]) for gpu in lease["gpus"] if gpu["box"] == self.name}
            if not self.open_session(lease["id"]):
                return
            for other in self.running - {lease["id"]}:
                for gpu, mode in self.using.get(other, set()) & mine:
                    if mode == "exclusive":
                        self.complaints.append("%s of leases %s and %s at once"
                                               % (gpu, other, lease["id"]))
            self.using[lease["id"]] = mine

    def revoke(self, orders):
        with self.guard:
            super().revoke(orders)

    def move(self, orders):
        """Those that are moved here have one GPU."""
        with self.guard:
            for order in orders:
                for _, mode in self.using.get(order["lease"], set()).copy():
                    self.using[order["lease"]] = {(order["gpu"], mode)}
            super().move(orders)


class Client:
    """Repeats every request until it is answered, as all users of keys may."""

    def __init__(self, broker, boxes):
        self.api = Api(broker.socket)
        self.boxes = {box.name: box for box in boxes}
        self.held = {}

    def call(self, method, path, body=None, timeout=30):
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self.api.call(method, path, body)
            except (OSError, http.client.HTTPException, ValueError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def acquire(self, key, parts, queue=False):
        try:
            lease = self.call("POST", "/v1/leases", {
                "key": key, "owner": 1000, "queue": queue, "ticket": True,
                "request": {"gpus": parts}})["lease"]
        except Refused as error:
            return error.code
        self.held[key] = lease["id"]
        if lease["state"] == "granted":
            self.open(lease)
        return lease["state"]

    def open(self, lease):
        for name in {gpu["box"] for gpu in lease["gpus"]}:
            self.boxes[name].open_lease(lease)

    def release(self, key):
        self.held.pop(key, None)
        self.call("POST", "/v1/leases/release", {"key": key})

    def release_all(self):
        for key in list(self.held):
            self.release(key)

    def try_call(self, method, path, body=None):
        try:
            return self.call(method, path, body)
        except Refused as error:
            return {"refused": error.code}


def start_boxes(broker, count=2, gpus=3, shared=1):
    boxes = [WatchfulBox(broker.socket, "box%d" % i, gpus, 100 * GB, shared)
             for i in range(count)]
    for box in boxes:
        box.start()
    return boxes


def await_boxes(client, boxes):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        states = {box["name"]: box["state"] for box in client.call("GET", "/v1/boxes")["boxes"]}
        if all(states.get(box.name) in ("up", "drained") for box in boxes):
            return
        time.sleep(0.02)
    raise TimeoutError("boxes: %s" % states)


def await_idle(client):
    """Until no lease lives; what is left after the time is what the invariants show."""
    deadline = time.monotonic() + 30
    while client.call("GET", "/v1/leases")["leases"] and time.monotonic() < deadline:
        time.sleep(0.02)


def violations(broker, boxes, idle=False):
    found = check_invariants.check(broker.database, idle)
    for box in boxes:
        found += box.complaints
        if idle and box.running:
            found.append("box %s still runs %s" % (box.name, sorted(box.running)))
    return found


def move(client, lease):
    """To whichever of the other GPUs of its box takes it, and waits until it is there."""
    if not lease:
        return
    gpu = client.call("GET", "/v1/leases/" + lease)["lease"]["gpus"][0]
    for other in client.call("GET", "/v1/gpus")["gpus"]:
        if other["box"] == gpu["box"] and other["uuid"] != gpu["gpu"]:
            client.try_call("POST", "/v1/leases/%s/move" % lease, {"to": other["uuid"]})
    while client.call("GET", "/v1/leases/" + lease)["lease"]["gpus"][0].get("target"):
        time.sleep(0.01)


def one_of_everything(client, boxes, tag):
    """Every kind of change once or more; boxes are there."""
    one, share = [{"count": 1}], [{"count": 1, "mode": "shared", "memory": 20 * GB}]
    client.acquire(tag + "/a", one)
    move(client, client.held.get(tag + "/a"))
    client.acquire(tag + "/b", [{"count": 2}])
    client.acquire(tag + "/c", share)
    client.acquire(tag + "/d", share + one, queue=True)
    client.acquire(tag + "/e", [{"count": 4}], queue=True)
    client.call("POST", "/v1/leases/release", {"key": tag + "/never"})
    if tag + "/a" in client.held:
        client.try_call("POST", "/v1/leases/%s/renew" % client.held[tag + "/a"],
                        {"lifetime": 3600})
        client.try_call("POST", "/v1/tickets", {"lease": client.held[tag + "/a"]})
    client.release(tag + "/a")
    client.call("POST", "/v1/boxes/box0/drain", {"force": True})
    client.acquire(tag + "/f", one)
    client.call("POST", "/v1/boxes/box0/undrain", {})
    client.release(tag + "/e")
    client.try_call("POST", "/v1/gpus/box1:2/drain", {"force": True})
    client.try_call("POST", "/v1/gpus/box1:2/mode", {"mode": "shared"})
    client.try_call("POST", "/v1/gpus/box1:2/mode", {"mode": "exclusive"})
    client.call("POST", "/v1/gpus/box1:2/undrain", {})
    client.release_all()
