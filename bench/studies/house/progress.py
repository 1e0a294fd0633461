# SPDX-License-Identifier: BSD-3-Clause
"""How far a run is and how long it will take, on one line of standard error."""
import os
import sys
import time


def short(seconds):
    seconds = int(seconds + 0.5)
    if seconds < 100:
        return "%d s" % seconds
    return "%d min %02d s" % divmod(seconds, 60) if seconds < 6000 else "%d h %02d min" % divmod(seconds // 60, 60)


class Progress:
    """Knows how long each job took before, or, until it was run once, how long its program is said to take."""

    def __init__(self, jobs, stream=sys.stderr):
        self.jobs, self.stream, self.took, self.begun = jobs, stream, {}, time.monotonic()
        self.runs = self.failures = 0
        self.bar = stream.isatty()

    @staticmethod
    def kind(job):
        return job.study.name, job.program.name, job.column.name, job.size

    def left(self, at):
        """Seconds that the jobs from number AT on will take: what is not known goes by what others took of their guess."""
        guessed = sum(program_seconds for program_seconds, _ in self.took.values())
        pace = sum(real for _, real in self.took.values()) / guessed if guessed else 1
        return sum(self.took[self.kind(job)][1] if self.kind(job) in self.took else job.program.seconds * pace
                   for job in self.jobs[at:])

    def learn(self, job, seconds, failed):
        self.took[self.kind(job)] = (job.program.seconds, seconds)
        self.runs += 1
        self.failures += failed

    def show(self, at):
        job = self.jobs[at]
        name = "%s %s%s, %s" % (job.study.name, job.program.name, "" if job.size is None else " %s" % job.size,
                                job.column.name)
        text = "%d/%d, %s left, round %d: %s" % (at + 1, len(self.jobs), short(self.left(at)), job.round + 1, name)
        if not self.bar:
            print("studies: " + text, file=self.stream, flush=True)
            return
        width = os.get_terminal_size(self.stream.fileno()).columns - 1
        cells = 24
        full = cells * at // len(self.jobs)
        line = "[%s%s] %s" % ("#" * full, "." * (cells - full), text)
        self.stream.write("\r" + line[:width].ljust(width))
        self.stream.flush()

    def say(self, text):
        self.stream.write(("\r\033[K" if self.bar else "") + "studies: " + text + "\n")
        self.stream.flush()

    def end(self):
        if self.bar:
            self.stream.write("\r\033[K")
        self.say("%d runs, %d failed, %s" % (self.runs, self.failures, short(time.monotonic() - self.begun)))
