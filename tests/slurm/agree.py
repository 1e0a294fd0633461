#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether Slurm, the broker and the boxes agree: agree.py BROKER-API BROKER-SOCKET. What is on its way is looked at
again: a disagreement is one that a second look finds unchanged. Prints what disagrees; status 1."""
import json, os, re, subprocess, sys, time

def ask(path):
    text = subprocess.run([sys.argv[1], sys.argv[2], "GET", path], capture_output=True, text=True, check=True)
    return json.loads(text.stdout)

def slurm(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout

# Disagreements as texts that are the same as long as nothing changes.
def look():
    found = set()
    leases = {int(lease["key"].split("/")[2]): lease
              for lease in ask("/v1/leases?key_prefix=slurm/")["leases"]}
    jobs = dict(line.split("|") for line in
                slurm("squeue", "-h", "-r", "-o", "%A|%T %P %b").splitlines())
    running = {int(number) for number, text in jobs.items() if text.startswith("RUNNING") and "rgpu" in text}
    holding = {int(number) for number, text in jobs.items() if not text.startswith("PENDING")}
    for job in running - set(leases):
        found.add("job %d runs without a lease" % job)
    for job, lease in leases.items():
        if job not in holding:
            found.add("lease %s of job %d, which does not run" % (lease["id"], job))
    used = int(re.search(r"LicenseName=rgpu\n.*Used=(\d+)", slurm("scontrol", "show", "license", "rgpu")).group(1))
    held = sum(hold["held"] for lease in leases.values() for hold in lease["gpus"]
               if hold["mode"] == "exclusive")
    if used != held:
        found.add("Slurm counts %d GPUs as used, the leases hold %d: %s" % (used, held, sorted(leases)))
    for session in ask("/v1/sessions")["sessions"]:
        if session.get("lease") not in {lease["id"] for lease in leases.values()}:
            found.add("session of lease %s, which has ended" % session.get("lease"))
    return found

found = look()
for _ in range(20):
    if not found:
        break
    time.sleep(0.25)
    found &= look()
for text in sorted(found):
    print(text)
sys.exit(bool(found))
