# SPDX-License-Identifier: BSD-3-Clause
"""hostile_reports.py HOST:PORT KEY: the box `evil` sends a report with more values than reports have, and then two reports at
once. Prints what comes back, but for the report that goes on waiting."""
import hashlib
import hmac
import secrets
import select
import socket
import sys
import time

host, port = sys.argv[1].rsplit(":", 1)
key, secret = open(sys.argv[2]).read().split()[:2]
secret = hmac.new(bytes.fromhex(secret), b"rgpu box requests\n", "sha256").digest()
path = "/v1/boxes/evil/sync"


def send(body):
    digest, now, nonce = hashlib.sha256(body.encode()).hexdigest(), int(time.time()), secrets.token_hex(16)
    signed = "POST %s\n%s\n%d\n%s" % (path, digest, now, nonce)
    connection = socket.create_connection((host, int(port)))
    connection.sendall((
        "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
        "Content-SHA256: %s\r\nAuthorization: RgpuBox evil %s %d %s %s\r\n\r\n%s" % (
            path, sys.argv[1], len(body), digest, key, now, nonce,
            hmac.new(secret, signed.encode(), "sha256").hexdigest(), body)).encode())
    return connection


many = send('{"instance": "i", "figures": [%s{}]}' % ("{}," * 70000))
print(many.recv(4096).decode())
reports = [send('{"instance": "i", "sessions": []}') for _ in range(2)]
for report in select.select(reports, [], [])[0]:
    print(report.recv(4096).decode())
