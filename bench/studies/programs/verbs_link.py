#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What verbs carry to the box, by perftest between the box's first RDMA device and our last: figures in GB/s.

STUDY_BOX_SHELL runs commands on the box's machine, STUDY_GID_INDEX chooses the address of a device."""
import json
import os
import shlex
import subprocess
import sys
import time

DEVICES = "/sys/class/infiniband"


def measure(program, devices, port):
    common = ["-F", "-s", "524288", "-n", "200", "-p", str(port), "-x", os.environ.get("STUDY_GID_INDEX", "1")]
    shell = shlex.split(os.environ.get("STUDY_BOX_SHELL", ""))
    address = os.environ.get("STUDY_BOX_HOST", "127.0.0.1")
    server = subprocess.Popen([*shell, program, *(() if shell else ("-d", devices[0])), *common],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            done = subprocess.run([program, "-d", devices[-1], *common, address], capture_output=True, text=True)
            rows = [line.split() for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]
            if rows:
                return float(rows[-1][3]) * (1 << 20) / 1e9
            if server.poll() is not None:
                sys.exit("%s: %s" % (program, done.stdout[-300:] + done.stderr[-300:]))
            time.sleep(0.05)
    finally:
        server.kill()
        server.wait()


def main():
    devices = sorted(os.listdir(DEVICES))
    for number, (program, name) in enumerate((("ib_write_bw", "RDMA write"), ("ib_read_bw", "RDMA read"))):
        rate = measure(program, devices, 18515 + number)
        print(json.dumps({"figure": name, "value": rate, "unit": "GB/s"}), flush=True)


main()
