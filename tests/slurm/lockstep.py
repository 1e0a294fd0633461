#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Plays the events of bench/studies/programs/cluster_model.py (standard input) on the cluster that SLURM_CONF names: ends the jobs
in its order, and after each end waits until the jobs run that it says. Prints how Slurm differs, or nothing.

    lockstep.py gpu|rgpu USER [PARTITION]

A job has one GPU, of its node or of the pool. All jobs are submitted first, held, and let go in their order. With PARTITION, which is
for jobs that are not urgent while partition urgent is for those that are, each job comes when it comes in the model, and after each
that comes or ends the same jobs run and the same are suspended."""
import json
import pwd
import subprocess
import sys
import time

gres, user = sys.argv[1], pwd.getpwnam(sys.argv[2])
partition = sys.argv[3] if len(sys.argv) > 3 else None
TIMEOUT = 120


def call(*command):
    """Slurm is asked again where it is too busy to answer."""
    for _ in range(20):
        done = subprocess.run(command, capture_output=True, text=True, user=user.pw_uid, group=user.pw_gid,
                              extra_groups=[])
        if done.returncode == 0:
            return done.stdout.strip()
    sys.exit("lockstep: %s: %s" % (" ".join(command), done.stderr))


def submit(job):
    where = ["-p" + ("urgent" if job["urgent"] else partition)] if partition else []
    return call("sbatch", "--parsable", "-H", "-o", "/dev/null", "-t", "60", "-n1", "-c%d" % job["cores"], *where,
                "--gres=%s:1" % gres, "--wrap", "exec sleep 3600").split(";")[0]


def jobs_in(states, numbers):
    text = call("squeue", "-h", "-t", states, "-o", "%A")
    return {numbers[name] for name in text.split() if name in numbers}


def await_jobs(states, want, numbers):
    end = time.monotonic() + TIMEOUT
    while True:
        seen = jobs_in(states, numbers)
        if seen == want or time.monotonic() > end:
            return seen
        time.sleep(0.1)


def await_running(want, numbers):
    return await_jobs("R,CG", want, numbers)


def step_differs(step, numbers):
    for states, what in (("R,CG", "running"), ("S", "suspended")):
        seen = await_jobs(states, set(step[what]), numbers)
        if seen != set(step[what]):
            print("after %s came and %s ended, %s are %s instead of %s" % (step["submitted"], step["ended"], what, sorted(seen),
                                                                            sorted(step[what])))
            return True
    return False


def play_steps(plan):
    names, numbers = {}, {}
    for step in plan["steps"]:
        for number in step["submitted"]:
            names[number] = submit(plan["jobs"][number])
            numbers[names[number]] = number
            call("scontrol", "release", names[number])
        for number in step["ended"]:
            call("scancel", names[number])
        if step_differs(step, numbers):
            break
    call("scancel", *names.values())
    await_jobs("R,CG,S", set(), numbers)


def main():
    plan = json.load(sys.stdin)
    if partition:
        play_steps(plan)
        return
    names = {job["number"]: submit(job) for job in plan["jobs"]}
    numbers = {name: number for number, name in names.items()}
    want = set()
    for number in sorted(names):
        call("scontrol", "release", names[number])
    for place, (begun, ended) in enumerate(plan["events"]):
        if not ended and place + 1 < len(plan["events"]) and not plan["events"][place + 1][1]:
            want |= set(begun)  # all have been submitted: what begins until the first end begins at once
            continue
        for number in ended:
            call("scancel", names[number])
        want = (want | set(begun)) - set(ended)
        seen = await_running(want, numbers)
        if seen != want:
            print("after the end of %s run %s instead of %s" % (ended, sorted(seen), sorted(want)))
            break
    call("scancel", *names.values())
    await_running(set(), numbers)


main()
