# SPDX-License-Identifier: BSD-3-Clause
"""A client of the broker and boxes without GPUs, for tests; standard library only."""
import http.client
import json
import socket
import threading
import time
import uuid


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("broker", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Refused(Exception):
    def __init__(self, status, answer):
        super().__init__("%d %s" % (status, answer))
        self.status = status
        self.code = answer.get("error", {}).get("code", "")


class Api:
    """Keeps its connection; one thread at a time."""

    def __init__(self, path, timeout=30):
        self.path = path
        self.timeout = timeout
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def raw(self, method, path, body=None):
        if not self.connection:
            self.connection = UnixConnection(self.path, self.timeout)
        try:
            self.connection.request(method, path, body,
                                    {"Content-Type": "application/json"} if body else {})
            response = self.connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def call(self, method, path, body=None):
        status, text = self.raw(method, path, json.dumps(body) if body is not None else None)
        answer = json.loads(text)
        if status >= 300:
            raise Refused(status, answer)
        return answer


class AnyApi(Api):
    """Asks the brokers one after the other until one takes the request."""

    ELSEWHERE = ("waiting", "no-majority", "stopping", "restarted")

    def __init__(self, paths, timeout=3):
        super().__init__(paths[0], timeout)
        self.paths, self.at = paths, 0

    def turn(self):
        self.close()
        self.at = (self.at + 1) % len(self.paths)
        self.path = self.paths[self.at]

    def call(self, method, path, body=None):
        try:
            return super().call(method, path, body)
        except Refused as error:
            if error.code in self.ELSEWHERE:
                self.turn()
            raise
        except (OSError, http.client.HTTPException, ValueError):
            self.turn()
            raise

    def insist(self, method, path, body=None):
        """The answer, or the refusal of a broker that leads. Keys make the repeated request the same one."""
        while True:
            try:
                return self.call(method, path, body)
            except Refused as error:
                if error.code not in self.ELSEWHERE:
                    raise
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.02)


class FakeBox(threading.Thread):
    """Registers, reports, and confirms ends, as rgpud does; its sessions are a set of leases."""

    def __init__(self, path, name, gpus=4, memory=100 << 30, shared=0):
        super().__init__(daemon=True)
        self.api = Api(path)
        self.name = name
        self.gpus = [{"uuid": "GPU-%s-%d" % (name, i), "index": i, "model": "Fake",
                      "memory": memory, "context": 1 << 28,
                      "mode": "shared" if i < shared else "exclusive"} for i in range(gpus)]
        self.running = set()
        self.revoked = set()
        self.moves = []
        self.instance = uuid.uuid4().hex
        self.stopping = False
        self.ready = threading.Event()

    def open_session(self, lease):
        """What a box does when a client presents a ticket; False where it refuses."""
        if lease in self.revoked:
            return False
        self.running.add(lease)
        return True

    def register(self):
        answer = self.api.call("PUT", "/v1/boxes/" + self.name, {
            "instance": self.instance, "addresses": "127.0.0.1:1", "gpus": self.gpus})
        self.revoke(answer["revoked"])

    def revoke(self, orders):
        for order in orders:
            self.revoked.add(order["lease"])
            self.running.discard(order["lease"])

    def move(self, orders):
        """What is to be on another GPU is there at once."""
        self.moves = [dict(order, done=True, refused="", reason="") for order in orders]

    def run(self):
        registered, ended = False, []
        while not self.stopping:
            try:
                if not registered:
                    self.register()
                    registered = True
                answer = self.api.call("POST", "/v1/boxes/%s/sync" % self.name, {
                    "instance": self.instance, "ended": ended, "moves": self.moves,
                    "sessions": [{"lease": lease} for lease in list(self.running)]})
                self.ready.set()
                self.revoke(answer["revoke"])
                self.move(answer["moves"])
                ended = [order["lease"] for order in answer["revoke"]]
            except Refused as error:
                if error.code != "register":
                    time.sleep(0.05)
                registered, ended = False, []
            except (OSError, http.client.HTTPException, ValueError):
                registered, ended = False, []
                time.sleep(0.02)

    def stop(self):
        self.stopping = True
