# SPDX-License-Identifier: BSD-3-Clause
"""The file of results: JSON lines, each written whole. The first is the run: machine, studies, columns, rounds. A run that was
gone on with has another such line, and what is left out behind it.

    {"kind": "run", "version": 1, "machine": {...}, "studies": [...], ...}
    {"kind": "sample", "study": "copies", "program": "pinned", "column": "shm", "round": 0, "figure": "to", "x": 64, ...}
    {"kind": "done", "study": ..., "program": ..., "column": ..., "size": ..., "round": ..., "status": "ok", "wall": 1.2}
    {"kind": "skipped", "study": ..., "program": ..., "column": ..., "why": "..."}

A file that was cut off in its last line can be gone on with; any other damage is said with its line."""
import gzip
import json
import os

VERSION = 1
KEY = ("study", "program", "column", "size", "round")
FIELDS = {"run": ("version", "machine", "studies"), "sample": KEY[:3] + ("round", "figure", "value", "unit"),
          "done": KEY + ("status",), "skipped": ("study", "why")}


class ResultError(Exception):
    """A file of results that cannot be read, with the way out."""


def key_of(record):
    return tuple(record[name] for name in KEY)


def parse_line(line, where):
    try:
        record = json.loads(line)
        missing = [field for field in FIELDS[record["kind"]] if field not in record]
    except (ValueError, KeyError, TypeError):
        raise ResultError("%s: this line is no result: %.60r" % (where, line)) from None
    if missing:
        raise ResultError("%s: a line of kind %s has no %s" % (where, record["kind"], ", ".join(missing)))
    if record["kind"] == "sample" and not isinstance(record["value"], (int, float)):
        raise ResultError("%s: the value of a sample is no number: %.40r" % (where, record["value"]))
    return record


def find_file(path):
    """A file of results, or that of a directory."""
    if os.path.isdir(path):
        for name in ("results.jsonl", "results.jsonl.gz"):
            if os.path.exists(os.path.join(path, name)):
                return os.path.join(path, name)
        raise ResultError("%s: there is no results.jsonl in this directory" % path)
    if not os.path.exists(path):
        raise ResultError("%s: there is no such file; bench/studies/run writes one and says where" % path)
    return path


def read_lines(path):
    """(number, text, whole) of each line; a last one without its end is not whole."""
    try:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
            for number, line in enumerate(file, 1):
                yield number, line.strip(), line.endswith("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ResultError("%s: cannot be read: %s" % (path, error)) from None


class Results:
    """What a file of results holds."""

    def __init__(self, path):
        self.path = find_file(path)
        self.run, self.samples, self.done, self.skipped = None, [], [], []
        kinds = {"sample": self.samples, "done": self.done, "skipped": self.skipped}
        for number, line, whole in read_lines(self.path):
            if not line or not whole:
                continue
            record = parse_line(line, "%s:%d" % (self.path, number))
            if record["kind"] != "run":
                kinds[record["kind"]].append(record)
            elif self.run is None:
                self.run = record
            else:
                self.run["settings"] = record["settings"]
                self.skipped.clear()
            if self.run is None:
                raise ResultError("%s: does not begin with a line of kind run: this is no file of results" % self.path)
        if self.run is None:
            raise ResultError("%s: is empty: start the studies anew" % self.path)
        if self.run["version"] != VERSION:
            raise ResultError("%s: has version %s, and this is for version %d" % (self.path, self.run["version"], VERSION))
        finished = {key_of(record) for record in self.done}
        self.samples = [sample for sample in self.samples if key_of({"size": None, **sample}) in finished]


class Writer:
    """Adds records to a file. What an interrupted run left of its last line is taken off."""

    def __init__(self, path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self.path = path
        self.file = open(path, "a+b")
        self.file.seek(0)
        text = self.file.read()
        if text and not text.endswith(b"\n"):
            self.file.truncate(text.rfind(b"\n") + 1)

    def add(self, records):
        """All of them or, after an interruption, perhaps a part of the last line."""
        self.file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
        self.file.flush()
