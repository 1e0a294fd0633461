# SPDX-License-Identifier: BSD-3-Clause
"""Users of the pool: each takes leases, runs programs under them, and gives the leases back in one of
many ways. They repeat what got no answer, as all users of keys may."""
import http.client
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time

from machines import BUILD, MIB, TIMEOUT

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "broker"))
from pool import AnyApi, Refused  # noqa: E402

RETRIED = ("disk-full", "database-busy", "failed", *AnyApi.ELSEWHERE)


class Asking:
    """The broker's API; what is not answered, or not now, is asked again."""

    def __init__(self, broker):
        self.api = AnyApi(broker.sockets, 30 if len(broker.sockets) == 1 else 6)

    def call(self, method, path, body=None):
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return self.api.call(method, path, body)
            except Refused as error:
                if error.code not in RETRIED or time.monotonic() > deadline:
                    raise
            except (OSError, http.client.HTTPException, ValueError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)


class User(threading.Thread):
    def __init__(self, campaign, number):
        super().__init__(name="user%d" % number, daemon=True)
        self.campaign, self.number = campaign, number
        self.choice = random.Random("%d/user/%d" % (campaign.seed, number))
        self.ask = Asking(campaign.broker)
        self.turn = 0

    def run(self):
        while not self.campaign.over.is_set():
            self.turn += 1
            try:
                self.one_lease("%d/%d" % (self.number, self.turn))
            except Exception as error:  # whatever it is, it is to be seen in the report
                self.campaign.violation("user %d, turn %d: %r" % (self.number, self.turn, error))
                return

    def parts(self):
        if self.choice.random() < 0.5:
            return [{"count": self.choice.choice([1, 1, 2])}], 0
        memory = self.choice.randrange(200, 1500) * MIB
        return [{"count": 1, "mode": "shared", "memory": memory}], memory

    def one_lease(self, key):
        parts, budget = self.parts()
        lifetime = self.choice.randrange(2, 6) if self.choice.random() < 0.1 else 0
        queue, ending = self.choice.random() < 0.5, self.choice.choice(
            ["kill", "terminate", "under it", "wait", "kill", "under it"])
        count, hold = self.choice.randrange(1, 3), self.choice.uniform(0.1, 2.5)
        try:
            answer = self.ask.call("POST", "/v1/leases", {
                "key": key, "owner": 0, "queue": queue, "ticket": True, "lifetime": lifetime,
                "request": {"gpus": parts}})
            if answer["lease"]["state"] == "queued":
                self.campaign.count("leases queued")
                answer = self.await_grant(answer["lease"]["id"])
        except Refused as error:
            self.campaign.count("leases refused: " + error.code)
            self.release(key)
            time.sleep(0.05)
            return
        if answer and answer.get("ticket"):
            self.campaign.count("leases granted")
            self.use(key, answer, budget, count, hold, ending, lifetime)
        if not lifetime:
            self.release(key)

    def await_grant(self, lease):
        answer = self.ask.call("GET", "/v1/leases/%s?wait=3" % lease)
        if answer["lease"]["state"] != "granted":
            return None
        answer["ticket"] = self.ask.call("POST", "/v1/tickets", {"lease": lease}).get("ticket")
        return answer

    def release(self, key):
        self.ask.call("POST", "/v1/leases/release", {"key": key})

    def use(self, key, answer, budget, count, hold, ending, lifetime):
        programs = [self.launch(answer, budget, n) for n in range(count)]
        if self.choice.random() < 0.2:
            try:
                self.ask.call("POST", "/v1/leases/%s/renew" % answer["lease"]["id"],
                              {"lifetime": lifetime})
            except Refused:
                pass  # it may have ended
        self.campaign.over.wait(hold)
        if self.campaign.replicated:
            self.check_known(answer["lease"]["id"])
        if ending == "under it" and not lifetime:
            self.release(key)
        for program in programs:
            if ending == "kill":
                program.kill()
            elif ending != "under it":
                program.terminate()
            self.finish(program, ending, answer["lease"]["id"])

    def check_known(self, lease):
        """A lease that was granted is known, even if it has ended: no database is restored."""
        try:
            self.ask.call("GET", "/v1/leases/" + lease)
        except Refused as error:
            if error.code == "not-found":
                self.campaign.violation("lease %s was granted and is lost" % lease)
        self.campaign.count("check: lease is known")

    def launch(self, answer, budget, number):
        lease = answer["lease"]["id"]
        boxes = {gpu["box"] for gpu in answer["lease"]["gpus"]}
        environment = dict(os.environ, RGPU_TICKET=answer["ticket"], RGPU_CONNECT_TIMEOUT="5s",
                           RGPU_START_TIMEOUT="20s", LD_LIBRARY_PATH=os.path.join(BUILD, "lib"))
        where = []
        if len(boxes) == 1 and self.choice.random() < 0.4:  # beside the box: shared memory
            where = ["nsenter", "--net=/run/netns/" + next(iter(boxes))]
        log = open(os.path.join(self.campaign.directory, "programs.log"), "a")
        program = subprocess.Popen(
            where + [os.path.join(BUILD, "tests", "kill-compute"), self.campaign.journal.path,
                     "%s/%s.%d.%d" % (lease, self.number, self.turn, number), str(budget),
                     str(self.choice.randrange(1 << 31))], env=environment,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        self.campaign.count("programs")
        return program

    def release_again(self, lease):
        """A release is lost with an older database, which adopts the lease from its box by its id, without its key."""
        try:
            self.ask.call("DELETE", "/v1/leases/" + lease)
        except Refused:
            pass  # it has ended, or is not adopted yet

    def finish(self, program, ending, lease):
        """A lease that ends takes its programs' sessions with it, and no program hangs."""
        deadline = time.monotonic() + TIMEOUT
        for turn in itertools.count():
            if program.poll() is not None or time.monotonic() > deadline:
                break
            if ending != "under it":
                program.terminate()
            elif turn % 200 == 199 and not self.campaign.replicated:
                self.release_again(lease)
            time.sleep(0.01)
        if program.poll() is None:
            self.campaign.violation("program %d does not end (%s)" % (program.pid, ending))
            program.kill()
            program.wait()
        status = program.returncode
        expected = (-signal.SIGKILL, -signal.SIGTERM)
        if status in expected:
            self.campaign.count("programs killed")
        elif status == 3:
            self.campaign.count("programs that got an error")
        else:
            self.campaign.violation("a program ended with status %d" % status)
