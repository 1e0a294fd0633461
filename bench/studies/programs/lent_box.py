# SPDX-License-Identifier: BSD-3-Clause
"""A box that lends shares of a GPU, each with a budget of its own: lent_box.py BUILD PORT CLIENTS PART DEVICE

DEVICE is the GPU as rgpud's --devices has it. PART is what a budget has of the GPU's memory, in percent. Tickets lie in a directory that is named after the port: with_budget.py takes one of them for each client. It says "ready"
when the box is ready and ends with it. What signs tickets in production is the broker; the box cannot tell the difference."""
import base64
import hashlib
import hmac
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from with_budget import directory_of


def encoded(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def ticket(key, name, address, gpu, number, budget):
    now = int(time.time())
    payload = {"iss": "rgpu", "jti": "study-%d" % number, "sub": "study-%d" % number, "aud": name, "iat": now - 10, "exp": now + 86400,
               "uid": os.getuid(), "job": "", "addresses": address, "protection": "authenticate",
               "gpus": [{"uuid": gpu["uuid"], "index": gpu["ordinal"], "ordinal": 0, "mode": "shared", "memory": budget}]}
    parts = [encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT", "kid": "study"}, payload)]
    parts.append(encoded(hmac.new(key, b".".join(parts), hashlib.sha256).digest()))
    return "%s %s %s\n" % (name, address, b".".join(parts).decode())


def devices(build, socket):
    asked = subprocess.run([os.path.join(build, "bin", "rgpuctl"), "devices", "--socket", socket, "--json"],
                           capture_output=True, text=True, check=True)
    return [json.loads(line) for line in asked.stdout.splitlines() if line]


def private(path, text):
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def main():
    build, port, clients, part = sys.argv[1], *map(int, sys.argv[2:5])
    device = sys.argv[5]
    directory, key = directory_of(port), os.urandom(32)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory, 0o700)
    private(os.path.join(directory, "key"), "study %s\n" % key.hex())
    socket = os.path.join(directory, "admin")
    box = subprocess.Popen([os.path.join(build, "bin", "rgpud"), "--standalone", "--devices", device, "--name", "lent",
                            "--listen", "127.0.0.1:%d" % port, "--admin-socket", socket, "--auth", "ticket",
                            "--key-file", os.path.join(directory, "key")], stdout=subprocess.PIPE, text=True)
    try:
        for line in box.stdout:
            if "ready listen=" in line:
                break
        gpu = devices(build, socket)[0]
        for number in range(clients):
            private(os.path.join(directory, "ticket-%d" % number),
                    ticket(key, "lent", "127.0.0.1:%d" % port, gpu, number, gpu["memory"] * part // 100))
        print("ready", flush=True)
        sys.exit(box.wait())
    finally:
        box.kill()
        box.wait()
        shutil.rmtree(directory, ignore_errors=True)


main()
