# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a pool, each with its disk, its clock and its line: a broker, boxes with software GPUs,
and programs under leases. What can be done to them is a method here; standard library only."""
import glob
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time

BUILD = os.environ["BUILD"]
MIB = 1 << 20
TIMEOUT = int(os.environ.get("KILL_TIMEOUT", "120"))  # seconds after which what has to come is taken to never come
FAKETIME = (glob.glob("/usr/lib/*/faketime/libfaketime.so.1") or [None])[0]


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options).stdout


def wait_until(condition, what):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited %d s in vain for %s" % (TIMEOUT, what))
        time.sleep(0.02)


class Daemon:
    """A program that is to run always, on a small disk of its own, with a clock of its own."""

    def __init__(self, name, directory):
        self.name = name
        self.directory = os.path.join(directory, name)
        self.state = os.path.join(self.directory, "state")
        self.log = os.path.join(self.directory, "log")
        self.clock = os.path.join(self.directory, "clock")
        self.lock = threading.RLock()  # one fault that ends or replaces it at a time
        self.process = None
        self.stopped = 0  # times
        os.makedirs(self.state)
        run("mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", self.state)
        self.set_clock(0)

    def environment(self):
        environment = dict(os.environ)
        if FAKETIME:
            environment.update(LD_PRELOAD=FAKETIME, FAKETIME_TIMESTAMP_FILE=self.clock,
                               FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1")
        return environment

    def launch(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.command(), env=self.environment(), stderr=log,
                                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                            text=True)
        for line in self.process.stdout:
            if "ready" in line or "waits" in line:  # for its turn to lead
                return True
        self.process.wait()
        return False

    def start(self):
        """Until it runs: a disk that is full just now may keep it from starting."""
        wait_until(self.launch, "%s to start (%s)" % (self.name, self.log))

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def end(self, number):
        if self.alive():
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
        self.process.wait()
        self.process.stdout.close()

    def replace(self, number):
        with self.lock:
            self.end(number)
            self.start()
        return 0

    def kill(self):
        return self.replace(signal.SIGKILL)

    def restart(self):
        return self.replace(signal.SIGTERM)

    def finish(self):
        self.end(signal.SIGTERM)

    def stall(self, seconds):
        self.stopped += 1
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def set_clock(self, seconds):
        with open(self.clock + ".new", "w") as file:
            file.write("%+d\n" % seconds)
        os.rename(self.clock + ".new", self.clock)

    def fill_disk(self):
        try:
            with open(os.path.join(self.state, "filler"), "wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(MIB))
        except OSError:
            pass

    def empty_disk(self):
        filler = os.path.join(self.state, "filler")
        if os.path.exists(filler):
            os.unlink(filler)


class Broker(Daemon):
    def __init__(self, directory, name="broker", key=None):
        super().__init__(name, directory)
        self.socket = os.path.join(self.directory, "socket")
        self.database = os.path.join(self.state, "pool.sqlite")
        self.program = os.path.join(BUILD, "bin", "rgpu-brokerd")
        self.cluster_key = key or os.path.join(self.directory, "cluster.key")
        self.copies = []
        self.sockets, self.databases, self.daemons = [self.socket], [(self.lock, self.database)], [self]
        if not key:
            run(self.program, "--make-key", self.cluster_key)

    def address(self, host):
        return host + ":7310"

    def command(self):
        return [self.program, "--listen", "0.0.0.0:7310", "--socket", self.socket,
                "--state-dir", self.state, "--cluster-key", self.cluster_key, "--munge", "no", "--synchronous", "normal", "--heartbeat", "1s",
                "--away-after", "3s", "--log-level", "warn"]

    def copy_database(self):
        """As docs/admin/pool.md tells an administrator to."""
        copy = os.path.join(self.directory, "copy-%d" % len(self.copies))
        source = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True, timeout=10)
        target = sqlite3.connect(copy)
        with target:
            source.backup(target)
        source.close()
        target.close()
        self.copies.append(copy)

    def restore_database(self, copy):
        with self.lock:
            self.end(signal.SIGKILL)
            for end in ("", "-wal", "-shm"):
                if os.path.exists(self.database + end):
                    os.unlink(self.database + end)
            wait_until(lambda: self.put_back(copy), "room for the database")
            self.start()

    def put_back(self, copy):
        try:
            run("cp", copy, self.database)
            return True
        except subprocess.CalledProcessError:
            return False


class Member(Daemon):
    """Of etcd, which the brokers write their changes to."""

    def __init__(self, directory, number):
        super().__init__("etcd%d" % number, directory)
        self.number = number
        run("mount", "-o", "remount,size=1g", self.state)

    def command(self):
        own, peer = "http://127.0.0.1:%d" % (7400 + self.number), "http://127.0.0.1:%d" % (7500 + self.number)
        return ["etcd", "--name", "m%d" % self.number, "--data-dir", os.path.join(self.state, "data"), "--election-timeout", "500",
                "--listen-client-urls", own, "--advertise-client-urls", own, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster",
                ",".join("m%d=http://127.0.0.1:%d" % (n, 7500 + n) for n in range(3))]

    def launch(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.command(), stderr=log, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                            env=dict(os.environ, ETCD_UNSUPPORTED_ARCH="arm64"))
        return True


class Replica(Broker):
    """One of three brokers. A broker that does not lead any more ends, and is started again, as by systemd."""

    def __init__(self, directory, number, key):
        self.number, self.finished = number, False
        super().__init__(directory, "broker%d" % number, key)

    def command(self):
        return [word.replace(":7310", ":731%d" % self.number) for word in super().command()] + [
            "--replication", ",".join("http://127.0.0.1:%d" % (7400 + n) for n in range(3))]

    def revive(self):
        while True:
            time.sleep(0.2)
            with self.lock:
                if self.finished:
                    return
                if not self.alive():
                    self.process.stdout.close()
                    self.start()

    def start(self):
        first = self.process is None
        super().start()
        if first:
            threading.Thread(target=self.revive, daemon=True).start()

    def finish(self):
        with self.lock:
            self.finished = True
            super().finish()


class Brokers:
    """What a campaign does with its broker, with three of them, each beside its member of etcd."""

    def __init__(self, directory):
        self.members = [Member(directory, n) for n in range(3)]
        self.replicas = [Replica(directory, 0, None)]
        self.replicas += [Replica(directory, n, self.replicas[0].cluster_key) for n in (1, 2)]
        self.sockets = [replica.socket for replica in self.replicas]
        self.databases = [(replica.lock, replica.database) for replica in self.replicas]
        self.daemons = self.replicas + self.members

    def address(self, host):
        return ",".join("%s:731%d" % (host, n) for n in range(3))

    def start(self):
        for daemon in self.members + self.replicas:
            daemon.start()


class Box(Daemon):
    """In a network of its own, at the other end of a line to where everybody else is."""

    def __init__(self, directory, number, broker, mode):
        super().__init__("box%d" % number, directory)
        self.number, self.mode, self.broker = number, mode, broker
        self.near = "near%d" % number
        self.address = "10.88.%d.2" % number
        self.admin = os.path.join(self.directory, "admin")
        self.key = os.path.join(self.directory, "tickets.key")
        self.gpu_state = "/dev/shm/gpus-of-%s" % self.name
        self.orders = os.path.join(self.directory, "orders")
        self.spawner = None  # rgpu-spawner, which outlives rgpud
        self.lost = []  # sessions that ended with their rgpud
        self.worker = os.path.join(self.directory, "worker")
        with open(os.open(self.worker, os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
            file.write("#!/bin/sh\nunset LD_PRELOAD\nexec %s \"$@\"\n"
                       % os.path.join(BUILD, "bin", "rgpu-worker"))
        self.make_line()

    def make_line(self):
        far = "far%d" % self.number
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.near, "type", "veth", "peer", "name", far, "netns", self.name)
        run("ip", "addr", "add", "10.88.%d.1/24" % self.number, "dev", self.near)
        run("ip", "link", "set", self.near, "up")
        for words in (["addr", "add", self.address + "/24", "dev", far], ["link", "set", far, "up"],
                      ["link", "set", "lo", "up"]):
            run("ip", "-n", self.name, *words)

    def write_key(self, keys):
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(keys)

    def environment(self):
        environment = super().environment()
        environment.update(RGPU_SIM_HOST=self.name, RGPU_SIM_STATE=self.gpu_state)
        return environment

    def inside(self, program):
        return ["nsenter", "--net=/run/netns/" + self.name, os.path.join(BUILD, "bin", program), "--standalone",
                "--name", self.name, "--auth", "ticket", "--key-file", self.key, "--broker",
                self.broker.address("10.88.%d.1" % self.number), "--state-dir", self.state, "--listen", self.address + ":7300", "--admin-socket", self.admin,
                "--devices", "sim:2", "--gpu-mode", self.mode, "--worker-program", self.worker,
                "--log-level", "info"]

    def command(self):
        return self.inside("rgpud") + ["--spawner", self.orders]

    def start(self):
        if not self.spawner:
            with open(self.log + "-spawner", "a") as log:
                self.spawner = subprocess.Popen(
                    self.inside("rgpu-spawner") + ["--orders", self.orders, "--for", str(os.getuid())],
                    env=self.environment(), stderr=log, stdout=log, stdin=subprocess.DEVNULL)
            wait_until(lambda: os.path.exists(self.orders), "the spawner of %s" % self.name)
        super().start()

    def replace(self, number):
        """Another rgpud comes in place of this one, which SIGNAL ends, and sessions go on."""
        with self.lock:
            before = {session["pid"] for session in self.sessions() or []}
            with open(self.log) as log:
                log.seek(0, os.SEEK_END)
                self.end(number)
                self.start()
                text = log.read()
            self.lost += re.findall(r"session=.* is not taken over .*", text)
            self.lost += ["worker %s" % pid for pid in re.findall(r"an earlier rgpud is ended .*pid=(\d+)", text)
                          if int(pid) in before]
            return len(re.findall("is taken over", text))

    def restart(self):
        """As systemctl restart does."""
        return self.replace(signal.SIGUSR1)

    def finish(self):
        self.end(signal.SIGTERM)
        self.spawner.terminate()
        self.spawner.wait()

    def cut(self, seconds):
        run("ip", "link", "set", self.near, "down")
        time.sleep(seconds)
        run("ip", "link", "set", self.near, "up")

    def slow(self, seconds, delay_ms):
        """Packets are late; where the kernel cannot delay them, the line is narrow, and they queue."""
        try:
            run("tc", "qdisc", "add", "dev", self.near, "root", "netem", "delay", "%dms" % delay_ms)
        except subprocess.CalledProcessError:
            run("tc", "qdisc", "add", "dev", self.near, "root", "tbf", "rate", "8mbit", "burst",
                "32kbit", "latency", "%dms" % (delay_ms + 50))
        time.sleep(seconds)
        run("tc", "qdisc", "del", "dev", self.near, "root")

    def sessions(self):
        """What the box says it serves; None where it does not say."""
        try:
            text = subprocess.run(
                [os.path.join(BUILD, "bin", "rgpuctl"), "sessions", "--socket", self.admin, "--json"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=True).stdout
            return [json.loads(line) for line in text.splitlines()]
        except (subprocess.SubprocessError, ValueError):
            return None


def processes(name):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/comm" % entry) as comm, open("/proc/%s/stat" % entry) as stat:
                if comm.read().strip() == name and stat.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(entry))
        except OSError:
            continue
    return found
