#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays a trace of jobs on the cluster that SLURM_CONF names, as it would be played by users:

    trace.py GRES JOBS SEED USER LOG [--spread SECONDS] [--share MEMORY] [--sample COMMAND]
        [--site] [--at FRACTION=COMMAND]... [--suits JSON --watch PROGRAM] [--queued COMMAND]

GRES is `rgpu`, or `gpu` for GPUs of the nodes. The jobs and what befalls them follow from the seed:
arrays, jobs of several nodes, whole nodes, shares and constraints (of plain GPUs
where GRES is not rgpu), cancels while they wait and while they run, ends of their time, kills of their
processes. With --share some ask for a share of so much memory,
which should be all of a GPU, so that it takes as much from others as a GPU of a node. Without --spread all are queued behind one that has all GPUs. COMMAND says how well Slurm,
broker and boxes agree; it is asked again and again. With --site some jobs are for the GPUs of a box, which are
nodes with that feature, some are urgent (partition `urgent`) and preempt others, one is for the reservation `held`,
and the time of all is limited to a minute. --at has COMMAND run when that part of the jobs has been submitted. The
licences are read every 20 ms by PROGRAM, and compared with JSON, of {PATTERN: most of such a licence}; --queued prints the
leases that wait at the broker. Prints what happened as JSON: the order of starts
as slurmctld's LOG has it, jobs started in vain, seconds from the first start to the last end, the mean seconds
between submission and first start of each shape, how often COMMAND failed of how many times, by how many seconds
expected starts were wrong (the median), in how many looks a licence's total was above what suits or more was used than its
total, the longest that the latter lasted, and the longest wait of a lease at the broker.
"""
import argparse, collections, json, os, pwd, random, re, subprocess, sys, threading, time

arguments = argparse.ArgumentParser()
for name in ("gres", "jobs", "seed", "user", "log"):
    arguments.add_argument(name)
arguments.add_argument("--spread", type=float, default=0)
arguments.add_argument("--share")
arguments.add_argument("--sample")
arguments.add_argument("--site", action="store_true")
arguments.add_argument("--at", action="append", default=[])
arguments.add_argument("--suits", type=json.loads, default={})
arguments.add_argument("--watch")
arguments.add_argument("--queued")
arguments = arguments.parse_args()
remote = arguments.gres == "rgpu"
account = pwd.getpwnam(arguments.user)
alone = random.Random(int(arguments.seed))


def call(*command, user=False, check=True):
    # Slurm is asked again where it is too busy to answer: no answer is no empty queue, nor is what was not
    # cancelled cancelled. Without `check` a refusal counts as done: who is cancelled may have ended.
    for attempt in range(20):
        done = subprocess.run(command, capture_output=True, text=True,
                              **({"user": account.pw_uid, "group": account.pw_gid,
                                  "extra_groups": []} if user else {}))
        busy = re.search("timed out|Unable to contact|temporarily", done.stderr)
        if not busy and (done.returncode == 0 or not check):
            return done.stdout.strip()
        if not busy:
            break
    raise SystemExit("trace: %s: %s" % (" ".join(command), done.stderr))


# What the jobs are, the same for every GRES: [name of the kind, options, components, fate].
def draw():
    gpu = "--gres=%s:1" % arguments.gres
    constrained = [gpu] + (["--rgpu-constraint=policy=spread"] if remote else [])
    share = [gpu] + (["--rgpu-mem=" + arguments.share] if remote and arguments.share else [])
    shapes = [("one", [gpu], 8), ("two-nodes", [gpu, "-N2"], 3), ("all-nodes", [gpu, "-N4"], 0 if arguments.site else 1),
              ("array", [gpu, "--array=0-2"], 2), ("exclusive", [gpu, "--exclusive"], 1),
              ("constraint", constrained, 2),
              ("share", share, 2 if arguments.share else 0),
              ("box", [gpu, "--rgpu-constraint=box=box1" if remote else "--constraint=box1"], 2 if arguments.site else 0),
              ("urgent", [gpu, "-purgent"], 1 if arguments.site else 0)]
    # A job of all nodes waits for the end of a reservation, and others pass it by backfill alone while it lacks GPUs of the pool.
    # Slurm looks at time limits every 30 s, and starts heterogeneous jobs by backfill alone: in a
    # trace that takes minutes either is seconds of luck for the whole queue.
    fates = [("runs", 14), ("cancelled-waiting", 1), ("cancelled", 1), ("out-of-time", 0 if arguments.spread else 1),
             ("killed", 1)]
    shape = alone.choices(shapes, [s[2] for s in shapes])[0]
    fate = alone.choices(fates, [f[1] for f in fates])[0][0]
    seconds = round(alone.uniform(0.2, 2.0), 1)
    if shape[0] == "array":
        fate = "runs"
    return shape[0], shape[1], fate, seconds


jobs = [draw() for _ in range(int(arguments.jobs))]
numbers = {}  # of the trace, by Slurm's
submitted = {}  # when, by the trace's
samples, failures, done = 0, [], False
expected = []  # Slurm's number of a job, when it was asked, when the job would start
looks, unanswered, excess, longest_over = 0, 0, collections.Counter(), 0
queued, longest = {}, 0


def submit(index, kind, options, fate, seconds):
    script = "exec sleep %g" % (seconds if fate in ("runs", "cancelled-waiting") else 300)
    command = ["sbatch", "--parsable", "-o", "/dev/null", "-t", "1" if arguments.site else "30"]
    if arguments.site and index == len(jobs) // 3:
        options = options[:1] + ["--reservation=held"]
    submitted[index] = time.time()
    number = call(*command, *options, "--wrap", script, user=True).split(";")[0]
    numbers[number] = index
    return number


def states():
    text = call("squeue", "-h", "-r", "-t", "all", "-o", "%A|%F|%T")
    return [line.split("|") for line in text.splitlines() if line.count("|") == 2]


def befall(number, fate):
    if fate in ("cancelled", "cancelled-waiting"):
        call("scancel", number, check=False)
    elif fate == "out-of-time":
        call("scontrol", "update", "job=" + number, "EndTime=now+1seconds", check=False)
    elif fate == "killed":
        call("scancel", "--full", "-s", "KILL", number, check=False)


def sample_for_ever():
    global samples
    while not done:
        result = subprocess.run(arguments.sample, shell=True, capture_output=True, text=True)
        samples += 1
        if result.returncode:
            failures.append(result.stdout.strip())
        time.sleep(1 if arguments.spread else 0)  # many looks would take processors from what is measured


def look_for_ever():
    """No total of a licence is above what suits, and of a kind of requests never more are used than there are."""
    global looks, unanswered, longest_over
    since = {}  # the licence: when more of it came into use than there are
    with subprocess.Popen([arguments.watch, "20"], stdout=subprocess.PIPE, text=True) as watching:
        for line in watching.stdout:
            now = time.time()
            if done:
                watching.kill()
                return
            looks += 1
            unanswered += line == "-\n"
            over = set()
            for name, total, in_use in re.findall(r"(\S+)=(\d+)/(\d+)", line):
                total, in_use = int(total), int(in_use)
                most = [number for pattern, number in arguments.suits.items() if re.fullmatch(pattern, name)]
                if most and total > min(most):
                    excess["%s Total=%d" % (name, total)] += 1
                if most and in_use > total and name != "rgpu":
                    excess["%s Total=%d Used=%d" % (name, total, in_use)] += 1
                    over.add(name)
                    longest_over = max(longest_over, now - since.setdefault(name, now))
            for name in set(since) - over:
                del since[name]


def expect_for_ever():
    while not done:
        for line in call("squeue", "--start", "-h", "-o", "%A|%S", check=False).splitlines():
            number, text = line.split("|")
            if re.match(r"\d+-", text):
                expected.append((number, time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))))
        time.sleep(2)


def watch_queue_for_ever():
    global longest
    while not done:
        now = time.time()
        answer = subprocess.run(arguments.queued.split(), capture_output=True, text=True).stdout
        ids = re.findall(r'"id": *"([^"]*)', answer)
        for name in set(queued) - set(ids):
            del queued[name]
        for name in ids:
            longest = max(longest, now - queued.setdefault(name, now))
        time.sleep(0.2)


def follow(fates):
    """Has what is to befall running jobs befall them. Returns true if any job is left."""
    left = False
    for number, master, state in states():
        if state == "RUNNING" and fates.get(master) in ("cancelled", "out-of-time", "killed"):
            befall(master, fates.pop(master))
        left |= state in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")
    return left


def play():
    blocker = None if arguments.spread else call(
        "sbatch", "--parsable", "-o", "/dev/null", "-N4", "--gres=%s:1" % arguments.gres, "-t", "30",
        "--wrap", "exec sleep 600", user=True)
    fates = {}
    actions = sorted(text.split("=", 1) for text in arguments.at)
    due = looked = time.time()
    for index, job in enumerate(jobs):
        while actions and index >= float(actions[0][0]) * len(jobs):
            subprocess.run(actions.pop(0)[1], shell=True, check=True, stdout=subprocess.DEVNULL)
        fates[submit(index, *job)] = job[2]
        if job[2] == "cancelled-waiting" and not arguments.spread:
            befall(list(fates)[-1], job[2])
        due += alone.expovariate(1 / arguments.spread) if arguments.spread else 0
        while arguments.spread:
            if time.time() > looked + 0.3:
                follow(fates)
                looked = time.time()
            if time.time() >= due:
                break
            time.sleep(min(0.3, max(0, due - time.time())))
    if blocker:
        call("scancel", blocker)
    while follow(fates):
        time.sleep(0.3)
    return blocker


def when(line):
    text = re.match(r"\[([0-9T:.-]+)\]", line).group(1)
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:] or 0)


def error_of_expected(begun):
    errors = sorted(abs(begun[number] - text) for number, text in expected if number in begun)
    return round(errors[len(errors) // 2], 1) if errors else None


def report(blocker, begin):
    order, starts, first, last, waits, begun, vain = [], 0, None, None, {}, {}, 0
    with open(arguments.log) as log:
        log.seek(begin)
        for line in log:
            start = re.search(r"(?:Allocate|Started|_start_job:.*) ?JobId=(\d+)(?:_(\d+)\((\d+)\))?"
                              r"(?:\+(\d+)(?:\((\d+)\))?)?", line)
            vain += bool(re.search(r"prep/rgpu: JobId=\d+: rgpu: no", line))
            end = re.search(r"(?:job_complete: JobId=\S+ done|completing JobId=)", line)
            if start and start.group(1) != blocker:
                starts += 1
                index = numbers.get(start.group(1))
                first = first or when(line)
                name = "%s%s" % (index, "".join("_" + g for g in (start.group(2), start.group(4)) if g))
                if name not in order:
                    order.append(name)
                    begun.setdefault(start.group(1), when(line))
                    if index is not None:
                        waits.setdefault(jobs[index][0], []).append(when(line) - submitted[index])
            if end and first:
                last = when(line)
    kinds = {str(i): "%s/%s" % (j[0], j[2]) for i, j in enumerate(jobs)}
    print(json.dumps({"gres": arguments.gres, "seed": arguments.seed, "order": order,
                      "kinds": kinds, "in_vain": vain if arguments.site else starts - len(order),
                      "expected": len(expected), "expected_error": error_of_expected(begun),
                      "looks": looks, "unanswered": unanswered, "excess": dict(excess), "longest_over": round(longest_over, 3),
                      "longest_queued": round(longest, 2),
                      "waits": {shape: [round(sum(w) / len(w), 2), len(w)] for shape, w in sorted(waits.items())},
                      "seconds": round((last or 0) - (first or 0), 2), "samples": samples,
                      "disagreements": failures}))


begin = os.path.getsize(arguments.log)
threads = [threading.Thread(target=function, daemon=True) for function, wanted in (
    (sample_for_ever, arguments.sample), (look_for_ever, arguments.suits), (expect_for_ever, arguments.site),
    (watch_queue_for_ever, arguments.queued)) if wanted]
for thread in threads:
    thread.start()
blocker = play()
done = True
for thread in threads:
    thread.join()
report(blocker, begin)
