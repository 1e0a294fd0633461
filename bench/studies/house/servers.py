# SPDX-License-Identifier: BSD-3-Clause
"""What columns need to run beside their programs: boxes, or another system's server. Started when first needed."""
import os
import re
import shlex
import selectors
import signal
import socket
import subprocess
import time

from house.declare import ALL, Box
from house.places import fill, fill_all, without_ours, with_library

READY_SECONDS = 120


class ServerError(Exception):
    """A server that did not start; the text has its last words."""


def half(which):
    """Processors of the first or second half of those that we may use; None is all."""
    cores = sorted(os.sched_getaffinity(0))
    middle = len(cores) // 2
    if which is None or middle == 0:
        return set(cores)
    return set(cores[:middle] if which == "first" else cores[middle:])


def pinned_to(which):
    """For preexec_fn: the process runs on these processors only."""
    cores = half(which)
    return None if which is None else lambda: os.sched_setaffinity(0, cores)


def last_words(path, count=600):
    try:
        with open(path, errors="replace") as file:
            return file.read()[-count:].strip()
    except OSError:
        return ""


def end(process, timeout=5):
    """Ends a process and all that it started; what runs on another machine ends with its input."""
    if process.stdin:
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(timeout)
            return
        except subprocess.TimeoutExpired:
            continue


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A process that is ready: of PIDS, reached at ADDRESS."""

    def __init__(self, process, address):
        self.process, self.address = process, address

    def alive(self):
        return self.process.poll() is None


def await_line(process, pattern, log):
    """What the PATTERN's first group finds in a line of the process's output."""
    selector, deadline, text = selectors.DefaultSelector(), time.monotonic() + READY_SECONDS, b""
    selector.register(process.stdout, selectors.EVENT_READ)
    while time.monotonic() < deadline:
        if not selector.select(deadline - time.monotonic()):
            break
        more = os.read(process.stdout.fileno(), 65536)
        text += more
        found = re.search(pattern, text.decode(errors="replace"))
        if found:
            return found[1] if found.groups() else found[0]
        if not more:
            break
    end(process)
    raise ServerError("the server did not become ready: %s" % (last_words(log) or text.decode(errors="replace")[-600:]))


def await_port(process, port, log):
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    end(process)
    raise ServerError("the server took no connections: %s" % last_words(log))


class Servers:
    """Those that run now, by what they were declared as. SCRATCH is a directory for their logs."""

    def __init__(self, known, scratch, real, gpus):
        self.known, self.scratch, self.real, self.gpus = known, scratch, real, gpus
        self.running = {}
        self.count = 0

    def log(self, name):
        self.count += 1
        return os.path.join(self.scratch, "%s-%d.log" % (name, self.count))

    def clean(self):
        """Our environment without what leads to rgpu, and without what chooses GPUs: boxes are told which are theirs."""
        environment = without_ours(os.environ, self.known)
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        return environment

    def environment(self):
        environment = self.clean()
        environment["RGPU_SIM_MEMORY"] = str(16 << 30)
        environment["RGPU_SIM_STATE"] = os.path.join(self.scratch, "gpus")
        return environment

    def devices(self, box):
        """The GPUs of a box as its --devices has them: of those that CUDA_VISIBLE_DEVICES lets us use."""
        if not self.real:
            return "sim:%d" % (self.gpus if box.gpus == ALL else len(box.gpus))
        if box.gpus == ALL and "CUDA_VISIBLE_DEVICES" not in os.environ:
            return "cuda:all"
        numbers = [gpu["number"] for gpu in self.real]
        return "cuda:" + ",".join(str(number) for number in (numbers if box.gpus == ALL else (numbers[place] for place in box.gpus)))

    def start_box(self, box, name):
        log = self.log(name)
        command = [os.path.join(self.known["bin"], "rgpud"), "--standalone", "--devices", self.devices(box), "--name", name,
                   "--admin-socket", ""]
        options = fill_all(box.options, dict(self.known, scratch=self.scratch))
        host, listen = self.known.get("host"), os.environ.get("STUDY_BOX_ADDRESS", "127.0.0.1")
        if not any(option.startswith("--listen") for option in options):
            options += ["--listen", "0.0.0.0:0" if host else listen + ":0"]
        if "STUDY_BOX_ADDRESS" in os.environ:
            options += ["--rdma-addresses", listen]
        command, environment = command + options, self.environment()
        if host:
            environment["RGPU_SIM_STATE"] = "/tmp/rgpu-study-gpus"
            command = host.server(command, environment)
        process = self.start(command, environment, log, None if host else box.cores)
        address = await_line(process, r"ready listen=([^ \n]+)", log)
        return Server(process, "%s:%s" % (host.address, address.rpartition(":")[2]) if host else address)

    @staticmethod
    def start(command, environment, log, cores=None):
        """Its input stays open as long as we are there."""
        try:
            with open(log, "w") as errors:
                return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=errors, start_new_session=True, preexec_fn=pinned_to(cores))
        except OSError as error:
            raise ServerError("%s: %s" % (command[0], error.strerror)) from None

    def start_other(self, column):
        port = free_port()
        known = dict(self.known, port=port, devices=self.devices(Box()), device=self.devices(Box(gpus=(0,))))
        environment = self.clean()
        environment.update((name, fill(value, known)) for name, value in column.server_environment.items())
        log = self.log(column.name)
        process = self.start(fill_all(column.server, known), environment, log)
        if column.ready:
            await_line(process, column.ready, log)
        else:
            await_port(process, port, log)
        return Server(process, str(port))

    @staticmethod
    def keys(column):
        """What the servers of a column are known by: columns with the same boxes share them."""
        if column.server:
            return [("other", column.name)]
        return [("box", number, box.gpus, box.options, box.cores) for number, box in enumerate(column.boxes)]

    def of(self, column):
        """The servers of a column, ready; one that has died is started anew."""
        keys = self.keys(column)
        for number, key in enumerate(keys):
            if key in self.running and not self.running[key].alive():
                end(self.running.pop(key).process)
            if key not in self.running:
                self.running[key] = (self.start_other(column) if key[0] == "other" else
                                     self.start_box(column.boxes[number], "study%d" % number))
        return [self.running[key] for key in keys]

    def keep_only(self, columns):
        """Ends those that none of these columns uses: they hold memory of the GPU."""
        wanted = {key for column in columns for key in self.keys(column)}
        for key in [key for key in self.running if key not in wanted]:
            end(self.running.pop(key).process)

    def end_all(self):
        while self.running:
            end(self.running.popitem()[1].process)

    def directory_of(self, name, link, library):
        """A directory with nothing but a LIBRARY of ours under the name LINK; on another machine too where that sees our files."""
        directory = os.path.join(self.known["programs"] if self.known.get("host") else self.scratch, name)
        os.makedirs(directory, exist_ok=True)
        if not os.path.lexists(os.path.join(directory, link)):
            os.symlink(os.path.join(self.known["lib"], library), os.path.join(directory, link))
        return directory

    def client_environment(self, column, servers, known):
        """What a program of this column is started with, and the places that its command may name."""
        environment = self.clean()
        if self.real:
            environment["STUDY_GPU"] = str(self.real[0]["number"])
            if not (column.library or column.boxes) and "CUDA_VISIBLE_DEVICES" in os.environ:
                environment["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            environment.update(RGPU_SIM_MEMORY=str(16 << 30), RGPU_SIM_DEVICES=str(self.gpus),
                               RGPU_SIM_STATE=os.path.join(self.scratch, "gpus"))
        address = ",".join(server.address for server in servers)
        known = dict(known, address=address, port=address)
        if column.boxes:
            environment["RGPU_BOXES"] = address
        if self.known.get("host"):
            environment.update(STUDY_BOX_SHELL=shlex.join(self.known["host"].shell), STUDY_BOX_HOST=self.known["host"].address)
        if "STUDY_CLIENT_ADDRESS" in os.environ:
            environment["RGPU_RDMA_ADDRESS"] = os.environ["STUDY_CLIENT_ADDRESS"]
        environment = with_library(environment, self.directory_of("team", "librgpu.so.1", "librgpu.so.1"))
        if column.library:
            environment = with_library(environment, fill(column.library, known))
        elif not self.real:
            environment = with_library(environment, self.directory_of("native", "libcuda.so.1", "libcuda-sim.so"))
        environment.update((name, fill(value, known)) for name, value in column.environment.items())
        return environment, known
