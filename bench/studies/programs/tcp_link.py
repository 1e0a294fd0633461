#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What one TCP stream carries to the box, by iperf3: one figure in GB/s. STUDY_BOX_SHELL runs commands on the box's machine."""
import json
import os
import shlex
import socket
import subprocess
import sys


def main():
    # Whole seconds or, in a miniature, a few bytes.
    seconds = os.environ.get("STUDY_SECONDS", "1")
    amount = ["-t", "1"] if float(seconds) >= 1 else ["-n", "8M"]
    shell, address = shlex.split(os.environ.get("STUDY_BOX_SHELL", "")), os.environ.get("STUDY_BOX_HOST", "127.0.0.1")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    server = subprocess.Popen([*shell, "iperf3", "-s", "-1", "--forceflush", "-p", port], stdout=subprocess.PIPE, text=True)
    try:
        next(line for line in server.stdout if "listening" in line)
        done = subprocess.run(["iperf3", "-c", address, "-p", port, *amount, "--json"], capture_output=True, text=True)
        if done.returncode:
            sys.exit("iperf3: " + done.stdout[-300:] + done.stderr[-300:])
        rate = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 8e9
    finally:
        server.kill()
        server.wait()
    print(json.dumps({"figure": "one TCP stream", "value": rate, "unit": "GB/s"}))


main()
