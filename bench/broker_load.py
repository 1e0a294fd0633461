#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the broker of a large pool under load: broker_load.py BUILD [CASE...]      (default: all)

    size       acquire, release and look at 10 to 5,000 boxes (BENCH_BOXES=10,100,1000,5000): quiet, with one status page open,
               and with a thousand different requests in the queue
    sessions   50 callers ask for the sessions of the largest pool, in which all boxes serve leases
    slow-disk  1,000 boxes, 100 leases a second, each sync of the disk takes 20 ms
    full-disk  what is refused, what goes on (needs root)
    wal        the largest log of the database over 20,000 leases
    restart    with 50,000 leases that have ended and 10,000 that live

One JSON line for each on standard output; at the end a table on standard error, with what is aimed at. Times
are the machine's and its load's: compare those of one run. `cpu` is the broker's own processor time for one lease, less what it takes
for the reports of boxes all the same.
"""
import concurrent.futures
import json
import os
import resource
import sqlite3
import statistics
import sys
import tempfile
import threading
import time

from broker import Line, percentile
from load_broker import Pool, ask

SAMPLES = int(os.environ.get("BENCH_SAMPLES", "400"))
WAITERS = int(os.environ.get("BENCH_WAITERS", "1000"))
QUESTIONS = int(os.environ.get("BENCH_QUESTIONS", "500"))
IDLE_SECONDS = int(os.environ.get("BENCH_IDLE", "6"))
SIZES = [int(word) for word in os.environ.get("BENCH_BOXES", "10,100,1000,5000").split(",")]
table = []


def show(case, what, value, aim="", fulfilled=None):
    table.append((case, what, value, aim, "" if fulfilled is None else
                  "yes" if fulfilled else "NO"))


def milliseconds(values, share):
    return round(percentile(values, share) * 1e3, 3)


# ---- sessions ----

def run_sessions(build):
    """Processor time of the broker for one of many questions at once."""
    callers, questions = 50, QUESTIONS
    with Pool(build, SIZES[-1]) as pool:
        for i in range(SIZES[-1] // 8 - 1):
            pool.take("fill/%d" % i, ticket=False, gpus=[{"count": 64}])
        before, start = pool.cpu_seconds(), time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(callers) as executor:
            for future in [executor.submit(ask, pool.address, "GET", "/v1/sessions")
                           for _ in range(questions)]:
                future.result()
        used = pool.cpu_seconds() - before
        cost = round(used / questions * 1e3, 2)
        yield {"boxes": SIZES[-1], "questions": questions, "cpu_seconds": round(used, 2),
               "seconds": round(time.perf_counter() - start, 2), "cpu_ms_per_question": cost}
        show("sessions, %d boxes" % SIZES[-1], "processor time for one question", "%.2f ms" % cost)


# ---- size ----

def measure(pool, tag, idle=0):
    """IDLE: the share of a processor that the broker takes all the same."""
    times = {"acquire": [], "release": [], "look": []}
    before, began, late = pool.cpu_seconds(), time.perf_counter(), 0
    for i in range(SAMPLES):
        start = time.perf_counter()
        lease = pool.take("%s/%d" % (tag, i))
        times["acquire"].append(time.perf_counter() - start)
        if lease["state"] != "granted":
            # The simulated boxes have not confirmed earlier ends, because the processor was busy.
            del times["acquire"][-1]
            late += 1
            pool.release(pool.await_grant(lease))
            continue
        start = time.perf_counter()
        ask(pool.address, "GET", "/v1/leases/" + lease["id"])
        times["look"].append(time.perf_counter() - start)
        start = time.perf_counter()
        pool.release(lease)
        times["release"].append(time.perf_counter() - start)
    used = pool.cpu_seconds() - before - idle * (time.perf_counter() - began)
    result = {"cpu": round(max(used, 0) / SAMPLES * 1e3, 3), "boxes_late": late}
    for name, values in times.items():
        for part in (50, 99):
            result["%s_p%d" % (name, part)] = milliseconds(values, part / 100)
    return result


def page(pool, stop):
    """One status page: what it asks for, once a second at most."""
    last = -1
    while not stop.wait(1):
        path = "/v1/overview?limit=25&after=%d&wait=10" % last
        last = json.loads(ask(pool.address, "GET", path)[1])["last"]


def with_page(pool, tag, idle):
    stop = threading.Event()
    thread = threading.Thread(target=page, args=(pool, stop))
    thread.start()
    try:
        return measure(pool, tag, idle)
    finally:
        stop.set()
        thread.join()


def add_waiters(pool):
    """A thousand requests of which none is like another, for GPUs that somebody holds."""
    pool.await_grant(pool.take("hold", box="box0000", gpus=[{"count": 8}]))
    for i in range(WAITERS):
        pool.take("wait/%d" % i, ticket=False, box="box0000", min_memory=i,
                  gpus=[{"count": 1 + i % 8}])


def idle_cpu(pool):
    """Processor time of the broker in a second in which nobody asks: reports of boxes."""
    before, start = pool.cpu_seconds(), time.perf_counter()
    time.sleep(IDLE_SECONDS)
    return round((pool.cpu_seconds() - before) / (time.perf_counter() - start), 3)


def run_size(build):
    first = {}
    for count in SIZES:
        with Pool(build, count) as pool:
            measure(pool, "warm")
            idle = idle_cpu(pool)
            rows = {"quiet": measure(pool, "quiet", idle), "page": with_page(pool, "page", idle)}
            # Repeats both in reverse order, since the machine's load changes.
            again = {"page": with_page(pool, "page-again", idle),
                     "quiet": measure(pool, "quiet-again", idle)}
            for case in rows:
                rows[case] = {name: min(rows[case][name], again[case][name]) for name in rows[case]}
            rows["idle"] = {"cpu_share": idle}
            add_waiters(pool)
            rows["waiters"] = measure(pool, "waiters", idle)
            for case, row in rows.items():
                yield dict(boxes=count, case=case, **row)
        first = first or rows
        for case in ("quiet", "page", "waiters"):
            row, base = rows[case], first["quiet"]
            ratio = row["acquire_p99"] / base["acquire_p99"]
            show("%d boxes, %s" % (count, case), "acquire p50/p99, release p99, look p99 ms; cpu ms",
                 "%.2f/%.2f %.2f %.2f; %.2f" % (row["acquire_p50"], row["acquire_p99"],
                                                row["release_p99"], row["look_p99"], row["cpu"]))
            if count != SIZES[0] and case == "quiet":
                show("%d boxes, %s" % (count, case), "acquire p99 to %d boxes" % SIZES[0],
                     "%.2f" % ratio, "<= 2", ratio <= 2)
            if case == "page":
                to_quiet = row["acquire_p99"] / rows["quiet"]["acquire_p99"]
                show("%d boxes, %s" % (count, case), "acquire p99 and cpu to quiet", "%.2f %.2f" % (
                    to_quiet, row["cpu"] / max(rows["quiet"]["cpu"], 1e-3)), "~ 1", to_quiet <= 1.2)
        show("%d boxes, idle" % count, "share of one processor for reports",
             "%.3f" % rows["idle"]["cpu_share"])


# ---- slow disk ----

def run_slow_disk(build, rate=100, seconds=15):
    times = {"acquire": [], "release": [], "look": []}
    lock = threading.Lock()

    def one(pool, number):
        start = time.perf_counter()
        lease = pool.take("slow/%d" % number)
        acquired = time.perf_counter()
        ask(pool.address, "GET", "/v1/leases/" + lease["id"])
        looked = time.perf_counter()
        pool.release(lease)
        with lock:
            times["acquire"].append(acquired - start)
            times["look"].append(looked - acquired)
            times["release"].append(time.perf_counter() - looked)

    with Pool(build, 1000, sync_delay=20) as pool, \
            concurrent.futures.ThreadPoolExecutor(64) as threads:
        began, jobs, late = time.perf_counter(), [], 0
        for number in range(rate * seconds):
            due = began + number / rate
            pause = due - time.perf_counter()
            late = max(late, -pause)
            if pause > 0:
                time.sleep(pause)
            jobs.append(threads.submit(one, pool, number))
        for job in jobs:
            job.result()
    row = {"case": "slow-disk", "leases_per_second": rate, "asker_late_ms": round(late * 1e3, 1)}
    for name, values in times.items():
        for part in (50, 99):
            row["%s_p%d" % (name, part)] = milliseconds(values, part / 100)
    yield row
    show("slow disk, 100 leases/s", "acquire p50/p99 ms", "%.1f/%.1f" % (
        row["acquire_p50"], row["acquire_p99"]), "p99 <= 100", row["acquire_p99"] <= 100)
    show("slow disk, 100 leases/s", "look p50/p99 ms (no sync)", "%.1f/%.1f" % (
        row["look_p50"], row["look_p99"]))


# ---- full disk ----

def run_full_disk(build):
    if os.geteuid():
        print("full-disk: needs root", file=sys.stderr)
        return
    with Pool(build, 10, small_disk=64) as pool:
        leases = [pool.take("full/%d" % i) for i in range(40)]
        with open(pool.file("filler"), "wb", buffering=0) as filler:
            refused = 0
            while not refused:
                try:
                    filler.write(bytes(1 << 16))
                except OSError:
                    status, _ = ask(pool.address, "POST", "/v1/leases", {
                        "owner": 1, "request": {"gpus": [{"count": 1}]}})
                    refused = status if status != 200 else 0
        health = ask(pool.address, "GET", "/healthz")
        times, done = [], 0
        for lease in leases:
            start = time.perf_counter()
            done += pool.release(lease) == 200
            times.append(time.perf_counter() - start)
        row = {"case": "full-disk", "refused_with": refused, "health": health[0],
               "released": done, "of": len(leases), "release_p99": milliseconds(times, 0.99)}
    yield row
    show("full disk", "grant, health, releases", "%d %d %d of %d" % (
        refused, health[0], done, len(leases)), "503 503 all",
        refused == 503 and health[0] == 503 and done == len(leases))


# ---- the database's log ----

def run_wal(build, count=20000, askers=4):
    largest, lock = [0.0], threading.Lock()

    def some(pool, first):
        line = Line(pool.directory + "/socket")
        for number in range(first, count, askers):
            status, answer = line.call("POST", "/v1/leases", {
                "key": "wal/%d" % number, "owner": 1, "queue": True,
                "request": {"gpus": [{"count": 1}]}})
            if status >= 300:
                raise RuntimeError(answer)
            line.call("DELETE", "/v1/leases/" + answer["lease"]["id"])
            if number % 64 == 0:
                with lock:
                    largest[0] = max(largest[0], pool.wal_mib())

    with Pool(build, 10) as pool:
        start = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(askers) as threads:
            for job in [threads.submit(some, pool, i) for i in range(askers)]:
                job.result()
        row = {"case": "wal", "leases": count, "largest_mib": round(largest[0], 1),
               "seconds": round(time.perf_counter() - start, 1)}
    yield row
    show("20,000 leases", "largest log of the database, MiB", "%.1f" % row["largest_mib"],
         "<= 50", row["largest_mib"] <= 50)


# ---- restart ----

def fill_database(path, ended=50000, living=10000):
    """Leases as the broker writes them, on GPUs that it has heard of."""
    database = sqlite3.connect(path)
    gpus = database.execute("SELECT uuid, box FROM gpus ORDER BY uuid").fetchall()
    request = '{"gpus":[{"count":1,"mode":"exclusive","memory":0}],"policy":"pack"}'
    now = int(time.time())
    for number in range(ended + living):
        lives = number >= ended
        identity = "L%015d" % number
        gpu, box = gpus[(number - ended) % len(gpus)] if lives else gpus[number % len(gpus)]
        database.execute(
            "INSERT INTO leases (id, key, key_owner, owner, job, state, request, lifetime, created, granted,"
            " ended, ticket_until, sequence, reason) VALUES (?, ?, -1, 1000, 'job', ?, ?, 0, ?, ?, ?, ?, ?, ?)",
            (identity, "bench/%d" % number, "granted" if lives else "ended", request, now, now,
             0 if lives else now, now + 600000 if lives else now, 1000 + number,
             "" if lives else "released"))
        database.execute(
            "INSERT INTO holds (lease, ordinal, gpu, box, mode, memory, context, held)"
            " VALUES (?, 0, ?, ?, 'exclusive', 0, 0, ?)", (identity, gpu, box, int(lives)))
    database.commit()
    database.close()


def run_restart(build):
    with tempfile.TemporaryDirectory(prefix="rgpu-bench.") as directory:
        with Pool(build, 1250, directory=directory):
            pass
        fill_database(directory + "/state/pool.sqlite")
        times = []
        for _ in range(5):
            pool = Pool(build, directory=directory)
            try:
                times.append(pool.start())
                living = len(json.loads(ask(pool.address, "GET", "/v1/leases")[1])["leases"])
            finally:
                pool.__exit__()
        row = {"case": "restart", "seconds": [round(value, 3) for value in times],
               "living": living}
    yield row
    best = statistics.median(times)
    show("50,000 + 10,000 leases", "start until it is ready, s (median of 5)", "%.3f" % best,
         "<= 0.3", best <= 0.3 and living == 10000)


CASES = {"size": run_size, "sessions": run_sessions, "slow-disk": run_slow_disk, "full-disk": run_full_disk, "wal": run_wal,
         "restart": run_restart}


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    names = sys.argv[2:] or list(CASES)
    for name in names:
        if name not in CASES:
            sys.exit("no case %s; there are %s" % (name, ", ".join(CASES)))
    for name in names:
        for row in CASES[name](sys.argv[1]):
            print(json.dumps(row), flush=True)
    print("\n%-28s %-46s %-28s %-12s %s" % ("case", "figure", "value", "aim", "held"),
          file=sys.stderr)
    for row in table:
        print("%-28s %-46s %-28s %-12s %s" % row, file=sys.stderr)


if __name__ == "__main__":
    main()
