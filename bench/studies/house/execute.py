# SPDX-License-Identifier: BSD-3-Clause
"""Runs one program of a study once, in one column: its clients at once, with what runs beside, within its time limit."""
import collections
import json
import os
import selectors
import statistics
import subprocess
import time

from house import counters
from house.places import fill, fill_all
from house.servers import ServerError, end, last_words, pinned_to

Job = collections.namedtuple("Job", "study program column size round")


class Failed(Exception):
    """A program that did not do what it should; the text says why."""


class Client:
    """One process of a program, what it has said, and at which mark it waits."""

    def __init__(self, command, environment, scratch, name, cores):
        self.log = os.path.join(scratch, name + ".err")
        self.text, self.mark, self.ended = b"", None, False
        try:
            with open(self.log, "w") as errors:
                self.process = subprocess.Popen(command, env=environment, cwd=scratch, stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
                                                preexec_fn=pinned_to(cores))
        except OSError as error:
            raise Failed("%s: %s" % (command[0], error.strerror)) from None

    def take(self):
        """Reads what has come; a mark is the last line that a program says before it waits."""
        more = os.read(self.process.stdout.fileno(), 1 << 16)
        if not more:
            self.ended = True
            return
        self.text += more
        last = self.text.rstrip(b"\n").rpartition(b"\n")[2]
        if self.text.endswith(b"\n") and last.startswith(b'{"mark":'):
            self.mark = json.loads(last)["mark"]

    def go_on(self):
        self.mark = None
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def words(self):
        """The last that it said, on both ways; lines of figures say nothing of what went wrong."""
        said = [line for line in self.text.decode(errors="replace")[-600:].splitlines() if not line.startswith("{")]
        return "\n".join(part for part in (last_words(self.log), "\n".join(said).strip()) if part) or "it said nothing"

    def check(self):
        status = self.process.wait()
        if status:
            how = "signal %d" % -status if status < 0 else "status %d" % status
            raise Failed("%s: %s" % (how, self.words()))


class Crowd:
    """The clients of one run, and how long they may take together."""

    def __init__(self, limit):
        self.clients, self.deadline, self.limit = [], time.monotonic() + limit, limit
        self.selector = selectors.DefaultSelector()

    def add(self, client):
        self.clients.append(client)
        self.selector.register(client.process.stdout, selectors.EVENT_READ, client)

    def read(self):
        left = self.deadline - time.monotonic()
        ready = self.selector.select(left) if left > 0 else []
        if not ready:
            raise Failed("it took more than %g s: %s" % (self.limit, self.clients[0].words()))
        for key, _ in ready:
            key.data.take()
            if key.data.ended:
                self.selector.unregister(key.fileobj)

    def await_mark(self, mark):
        """Until each waits at the mark; one that ends before has failed."""
        while any(client.mark != mark for client in self.clients):
            for client in self.clients:
                if client.ended and client.mark != mark:
                    client.check()
                    raise Failed("it ended before it said %s: %s" % (mark, client.words()))
            self.read()

    def go_on(self):
        for client in self.clients:
            client.go_on()

    def await_end(self):
        while not all(client.ended for client in self.clients):
            self.read()
        for client in self.clients:
            client.check()

    def end(self):
        for client in self.clients:
            if client.process.poll() is None:
                end(client.process)
            for pipe in (client.process.stdin, client.process.stdout):
                try:
                    pipe.close()
                except OSError:
                    pass
        self.selector.close()


def beside_figures(text, parse):
    """The medians of what was said beside."""
    seen = {}
    for record in parse(text):
        seen.setdefault((record["figure"], record.get("x"), record["unit"]), []).append(record["value"])
    for (figure, x, unit), values in seen.items():
        yield {"figure": figure, "value": statistics.median(values), "unit": unit, **({} if x is None else {"x": x})}


class Run:
    """One job under way."""

    def __init__(self, job, servers, known, scratch):
        self.job, self.servers, self.scratch = job, servers, scratch
        program, column = job.program, job.column
        self.boxes = servers.of(column)
        self.clients = job.size if program.clients == "size" else program.clients
        known = dict(known, size=job.size, round=job.round, scratch=scratch, clients=self.clients)
        self.environment, self.known = servers.client_environment(column, self.boxes, known)
        for name, value in program.environment.items():
            self.environment[name] = fill(value, self.known)
        self.crowd, self.beside, self.counted = Crowd(program.limit), None, []

    def on_box(self, command, environment):
        """The command as it runs on the box's machine, where that is another one, within the limit there too."""
        host = self.known.get("host")
        return host.command(["timeout", str(self.job.program.limit), *command], environment) if host else command

    def is_elsewhere(self):
        column = self.job.column
        return not (column.boxes or column.server or column.library or column.here or self.job.program.here)

    def start_beside(self):
        """What runs beside is under way when it has said something."""
        if not self.job.program.beside:
            return
        crowd = Crowd(self.job.program.limit)
        environment = self.servers.client_environment(self.job.column, self.boxes, self.known)[0]
        command = self.on_box(fill_all(self.job.program.beside, self.known), environment)
        crowd.add(Client(command, environment, self.scratch, "beside", self.job.program.beside_cores))
        self.beside = crowd
        while b"\n" not in crowd.clients[0].text:
            if crowd.clients[0].ended:
                raise Failed("what runs beside ended: " + crowd.clients[0].words())
            crowd.read()

    def end_beside(self):
        if not self.beside:
            return []
        client = self.beside.clients[0]
        while not client.ended and self.beside.selector.select(0):
            client.take()
        ended = client.ended
        text = client.text.decode(errors="replace")
        if ended:
            raise Failed("what runs beside ended: " + client.words())
        return list(beside_figures(text.rpartition("\n")[0], self.job.program.parse))

    def count(self):
        boxes = [] if self.known.get("host") else [box.process.pid for box in self.boxes]
        self.counted.append(counters.count([client.process.pid for client in self.crowd.clients], boxes))

    def execute(self):
        """The figures of the run."""
        program = self.job.program
        command = fill_all(program.command, self.known)
        start = time.monotonic()
        self.start_beside()
        for number in range(self.clients):
            environment = dict(self.environment, STUDY_CLIENT=str(number))
            words = self.on_box(command, environment) if self.is_elsewhere() else command
            self.crowd.add(Client(words, environment, self.scratch, "client%d" % number, self.job.column.cores))
        if program.marks:
            for mark in ("begin", "end"):
                self.crowd.await_mark(mark)
                self.count()
                self.crowd.go_on()
        self.crowd.await_end()
        wall = time.monotonic() - start
        figures = self.end_beside() + (counters.differences(*self.counted) if self.counted else [])
        for number, client in enumerate(self.crowd.clients):
            found = list(program.parse(client.text.decode(errors="replace")))
            figures += [dict(figure, client=number) if self.clients > 1 else figure for figure in found]
        if not figures:
            raise Failed("it printed no figure: " + self.crowd.clients[0].words())
        return figures + [{"figure": "wall", "value": wall, "unit": "s"}]

    def end(self):
        for crowd in (self.crowd, self.beside):
            if crowd:
                crowd.end()


def named(job):
    return {"study": job.study.name, "program": job.program.name, "column": job.column.name, "size": job.size,
            "round": job.round}


def samples_of(job, figures):
    for figure in figures:
        x = figure.get("x", job.size)
        yield {"kind": "sample", **named(job), "figure": figure["figure"], "value": figure["value"],
               "unit": figure["unit"], "x": x, **({"client": figure["client"]} if "client" in figure else {})}


def execute(job, servers, known, scratch):
    """The records of one run: its samples and how it ended. Nothing that a program does is an error of ours."""
    run, start, samples = None, time.monotonic(), []
    done = {"kind": "done", **named(job), "status": "ok", "load": os.getloadavg()[0]}
    try:
        run = Run(job, servers, known, scratch)
        samples = list(samples_of(job, run.execute()))
    except (Failed, ServerError) as failure:
        done.update(status="failed", error=str(failure))
    except (ValueError, KeyError, TypeError) as failure:
        done.update(status="failed", error="what it printed was not understood: %r" % failure)
    finally:
        if run:
            run.end()
    done["wall"] = round(time.monotonic() - start, 3)
    return samples + [done]
