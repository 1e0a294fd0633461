# SPDX-License-Identifier: BSD-3-Clause
"""campaign.py --seconds N [--seed S] [--replicated]: users compute on a pool while everything that can break does, and
everything that must hold is checked all the time. Ends with a report; status 1 if anything did not hold.

The seed decides what is done in which order, by each user and to each part; how that falls together in
time is the machine's. Run by `in-a-machine-of-its-own`."""
import argparse
import collections
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time

import invariants
from machines import BUILD, FAKETIME, TIMEOUT, Box, Broker, Brokers, Member, processes, wait_until
from users import Asking, Refused, User

USERS, SHOWN = 4, 20
GPUS = 2  # of each box
MODES = ["exclusive", "shared", "exclusive"]
DAY = 86400


class Campaign:
    def __init__(self, seed, replicated):
        self.seed, self.replicated = seed, replicated
        self.directory = tempfile.mkdtemp(prefix="rgpu-kill.", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.over = threading.Event()
        self.counts = collections.Counter()
        self.found = collections.Counter()
        self.guard = threading.Lock()
        self.journal = invariants.Journal(os.path.join(self.directory, "journal"))
        self.users = []
        self.broker = (Brokers if replicated else Broker)(self.directory)
        self.boxes = [Box(self.directory, n, self.broker, mode) for n, mode in enumerate(MODES)]

    def count(self, what, number=1):
        with self.guard:
            self.counts[what] += number

    def violation(self, text):
        with self.guard:
            self.found[text] += 1
            if self.found[text] == 1:
                print("violation: %s" % text, flush=True)

    def start(self):
        self.broker.start()
        ask = Asking(self.broker)
        for box in self.boxes:
            box.write_key(ask.call("GET", "/v1/boxes/%s/key" % box.name)["keys"])
            box.start()
        wait_until(lambda: self.all_there(ask), "boxes to join")
        self.exclusive = {invariants.bare(gpu["uuid"]) for gpu in ask.call("GET", "/v1/gpus")["gpus"]
                          if gpu["mode"] == "exclusive"}

    def all_there(self, ask):
        states = [box["state"] for box in ask.call("GET", "/v1/boxes")["boxes"]]
        gpus = ask.call("GET", "/v1/gpus")["gpus"]
        return states == ["up"] * len(MODES) and len(gpus) == GPUS * len(MODES)

    def release_forgotten(self, ask):
        """What an administrator does after a restore: leases that came back with the older database
        have no owner any more. Those of the users' running turns have."""
        owned = {"%d/%d" % (user.number, user.turn) for user in self.users}
        for lease in ask.call("GET", "/v1/leases")["leases"]:
            if lease.get("key") in owned:
                continue
            try:
                ask.call("DELETE", "/v1/leases/" + lease["id"])
            except Refused:
                pass  # it has just ended


# ---- faults ----

class Faults(threading.Thread):
    """Does one thing after the other to the pool and puts it right again."""

    def __init__(self, campaign, name, kinds):
        super().__init__(name=name, daemon=True)
        self.campaign, self.kinds = campaign, kinds
        self.choice = random.Random("%d/%s" % (campaign.seed, name))
        self.ask = Asking(campaign.broker)

    def run(self):
        while not self.campaign.over.wait(self.choice.uniform(0.05, 0.6)):
            kind = self.choice.choice(self.kinds)
            try:
                what = getattr(self, kind)()
                if what:
                    self.campaign.count("fault: " + what)
            except Exception as error:
                self.campaign.violation("fault %s: %r" % (kind, error))

    def daemon(self):
        return self.choice.choice(self.campaign.broker.daemons + self.campaign.boxes)

    def box(self):
        return self.choice.choice(self.campaign.boxes)

    def kind_of(self, daemon):
        return "box" if daemon in self.campaign.boxes else "etcd" if isinstance(daemon, Member) else "broker"

    def kill_daemon(self):
        daemon = self.daemon()
        self.campaign.count("sessions taken over by another rgpud", daemon.kill())
        return "%s killed" % self.kind_of(daemon)

    def restart_daemon(self):
        daemon = self.daemon()
        self.campaign.count("sessions taken over by another rgpud", daemon.restart())
        return "%s restarted" % self.kind_of(daemon)

    def kill_any(self, name, what):
        found = sorted(processes(name))
        number = self.choice.random()
        if not found:
            return None
        try:
            os.kill(found[int(number * len(found))], 9)
        except ProcessLookupError:
            return None
        return what

    def kill_worker(self):
        return self.kill_any("rgpu-worker", "worker killed")

    def kill_program(self):
        return self.kill_any("kill-compute", "program killed")

    def stall(self):
        daemon, seconds = self.daemon(), self.choice.uniform(0.2, 4)
        with daemon.lock:
            daemon.stall(seconds)
        return "%s stopped for a while" % self.kind_of(daemon)

    def cut(self):
        self.box().cut(self.choice.uniform(0.2, 6))
        return "line cut"

    def slow(self):
        self.box().slow(self.choice.uniform(0.5, 3), self.choice.randrange(1, 200))
        return "line slow"

    def clock(self):
        daemon, jump = self.daemon(), self.choice.choice([-DAY, -3600, -90, 90, 3600, DAY])
        seconds = self.choice.uniform(0.3, 3)
        if not FAKETIME:
            return None
        daemon.set_clock(jump)
        time.sleep(seconds)
        daemon.set_clock(0)
        return "clock of %s jumped there and back" % self.kind_of(daemon)

    def disk(self):
        daemon, seconds = self.daemon(), self.choice.uniform(0.2, 2)
        if isinstance(daemon, Member):
            return None  # it gives up for good
        daemon.fill_disk()
        time.sleep(seconds)
        daemon.empty_disk()
        return "disk of %s full" % self.kind_of(daemon)

    def copy(self):
        with self.campaign.broker.lock:
            self.campaign.broker.copy_database()
        return "database copied"

    def restore(self):
        copies, number = self.campaign.broker.copies[-4:], self.choice.random()
        if not copies:
            return None
        self.campaign.broker.restore_database(copies[int(number * len(copies))])
        self.campaign.release_forgotten(self.ask)
        return "database restored from a copy"

    def drain(self):
        box, force, seconds = self.box(), self.choice.random() < 0.5, self.choice.uniform(0.2, 2)
        self.ask.call("POST", "/v1/boxes/%s/drain" % box.name, {"force": force})
        time.sleep(seconds)
        self.ask.call("POST", "/v1/boxes/%s/undrain" % box.name, {})
        return "box drained%s" % (" by force" if force else "")


KILLS = ["kill_daemon", "kill_daemon", "kill_worker", "kill_worker", "kill_program", "restart_daemon"]
TROUBLES = ["stall", "cut", "slow", "clock", "disk", "drain"]
OF_ONE_BROKER = ["copy", "restore"]


# ---- checks ----

class Checks(threading.Thread):
    def __init__(self, campaign):
        super().__init__(name="checks", daemon=True)
        self.campaign = campaign
        self.books = {box: invariants.GpuBooks(box.gpu_state) for box in campaign.boxes}

    def run(self):
        while not self.campaign.over.wait(0.2):
            self.all()

    def take(self, what, violations):
        for violation in violations:
            self.campaign.violation(violation)
        self.campaign.count("check: " + what)

    def all(self):
        campaign = self.campaign
        try:
            for lock, database in campaign.broker.databases:
                with lock:  # nobody exchanges the database meanwhile
                    self.take("database", invariants.check_database(database))
            self.take("journal", campaign.journal.violations(campaign.exclusive))
            for box in campaign.boxes:
                self.box(box)
        except Exception as error:
            campaign.violation("check: %r" % error)

    def box(self, box):
        before = box.sessions()
        used = self.books[box].used()
        after = box.sessions()
        if before is None or after is None:
            return
        self.take("sessions", invariants.check_sessions(box, after, self.campaign.exclusive))
        self.take("budgets", invariants.check_budgets(box, before, used, after, self.limits()))

    def limits(self):
        found = {}
        for lock, path in self.campaign.broker.databases:
            with lock:
                database = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=10)
                try:
                    found.update({(lease, box, number): (memory, context)
                                  for lease, box, number, memory, context in database.execute(
                                      "SELECT lease, holds.box, gpus.number, holds.memory, holds.context"
                                      " FROM holds JOIN gpus ON gpu = uuid WHERE holds.mode = 'shared'")})
                finally:
                    database.close()
        return found


def idle_checks(campaign, checks):
    """Nothing is asked for any more: leases, sessions and memory come to their end by themselves."""
    ask = Asking(campaign.broker)
    wait_until(lambda: campaign.all_there(ask), "boxes to be back")
    if campaign.counts["fault: database restored from a copy"]:
        campaign.users = []
        campaign.release_forgotten(ask)
    wait_until(lambda: not ask.call("GET", "/v1/leases")["leases"], "leases to end: %s" % [
        (lease["id"], lease.get("key"), lease["state"])
        for lease in ask.call("GET", "/v1/leases")["leases"]])
    wait_until(lambda: all(gpu["state"] == "free" for gpu in ask.call("GET", "/v1/gpus")["gpus"]),
               "GPUs to be free")
    for box in campaign.boxes:
        wait_until(lambda box=box: box.sessions() == [], "sessions of %s to end" % box.name)
        wait_until(lambda box=box: warm_only(checks.books[box]), "memory of %s to be free" % box.name)
    checks.all()
    for _, database in campaign.broker.databases:
        wait_until(lambda path=database: not list(invariants.check_database(path, idle=True)), "%s to be idle" % database)


def warm_only(books):
    """Nobody but a warm worker for each GPU has memory, and that no more than its contexts."""
    used = books.used()
    return len(used) <= 2 and all(amount <= 64 << 20 for row in used.values() for amount in row)


def left_behind(campaign):
    """Everything has been stopped: what is still there was left behind."""
    def others():
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) not in (1, os.getpid()):
                try:
                    with open("/proc/%s/cmdline" % entry) as file:
                        command = file.read().replace("\0", " ").strip()
                    if command:  # empty: a zombie that is being waited for
                        found.append("process %s: %s" % (entry, command))
                except OSError:
                    continue
        return found
    deadline = time.monotonic() + TIMEOUT
    while others() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield from others()
    for name in os.listdir("/dev/shm"):
        if not name.startswith("gpus-of-") and "faketime" not in name:  # ours, and that of clocks
            yield "memory file /dev/shm/%s" % name
    for name in os.listdir("/tmp"):
        if os.path.join("/tmp", name) != campaign.directory:
            yield "file /tmp/%s" % name
    with open("/proc/net/unix") as table:
        for line in table.readlines()[1:]:
            if len(line.split()) > 7:
                yield "socket %s" % line.split()[7]


def run(campaign, seconds):
    campaign.start()
    checks = Checks(campaign)
    campaign.users = [User(campaign, number) for number in range(USERS)]
    threads = [checks, Faults(campaign, "kills", KILLS), Faults(campaign, "troubles", TROUBLES + ([] if campaign.replicated else OF_ONE_BROKER)),
               *campaign.users]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        time.sleep(min(10, max(0.1, begin + seconds - time.monotonic())))
        print("%5.0f s: %s" % (time.monotonic() - begin, progress(campaign)), flush=True)
    campaign.over.set()
    for thread in threads:
        thread.join()
    try:
        idle_checks(campaign, checks)
    except TimeoutError as error:
        campaign.violation(str(error))
    for box in campaign.boxes:
        checks.take("no session lost", ("session lost with rgpud: " + lost for lost in box.lost))
    for daemon in campaign.boxes + campaign.broker.daemons:
        daemon.finish()
        checks.take("event loops", invariants.check_stalls(daemon))
    checks.take("nothing left behind", left_behind(campaign))


def progress(campaign):
    def total(prefix):
        return sum(n for what, n in campaign.counts.items() if what.startswith(prefix))
    return "%d faults, %d leases, %d programs, %d rounds, %d checks, %d violations" % (
        total("fault: "), campaign.counts["leases granted"], campaign.counts["programs"],
        campaign.journal.rounds, total("check: "), sum(campaign.found.values()))


def report(campaign, seconds):
    print("\nseed %d, %d s: %s" % (campaign.seed, seconds, progress(campaign)))
    for what, number in sorted(campaign.counts.items()):
        print("  %7d  %s" % (number, what))
    for what, number in sorted(campaign.journal.results.items()):
        print("  %7d  programs that saw %s" % (number, what))
    for text, number in list(campaign.found.items())[:SHOWN]:
        print("violation (%d times): %s" % (number, text))


def keep_logs(campaign):
    kept = os.path.join(BUILD, "kill-logs")
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(kept)
    for daemon in campaign.boxes + campaign.broker.daemons:
        for end in ("", "-spawner"):
            if os.path.exists(daemon.log + end):
                shutil.copy(daemon.log + end, os.path.join(kept, daemon.name + end + ".log"))
    for name in ("journal", "programs.log"):
        if os.path.exists(os.path.join(campaign.directory, name)):
            shutil.copy(os.path.join(campaign.directory, name), kept)
    for number, (_, database) in enumerate(campaign.broker.databases):
        if os.path.exists(database):
            shutil.copy(database, os.path.join(kept, "pool%d.sqlite" % number))
    print("logs are in %s" % kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--replicated", action="store_true", help="three brokers, each beside its member of etcd")
    options = parser.parse_args()
    campaign = Campaign(options.seed, options.replicated)
    print("seed %d" % options.seed, flush=True)
    try:
        run(campaign, options.seconds)
    except Exception as error:
        campaign.violation("the campaign itself: %r" % error)
    report(campaign, options.seconds)
    worked = campaign.counts["leases granted"] and campaign.journal.rounds
    if not worked:
        print("violation: nothing was computed")
    if campaign.found or not worked:
        keep_logs(campaign)
    sys.exit(bool(campaign.found) or not worked)


main()
