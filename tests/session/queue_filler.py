# SPDX-License-Identifier: BSD-3-Clause
"""Fills the queues of the sockets of all workers in this network namespace, as any user can, and keeps them full."""
import re
import socket
import time

held, said = [], set()
while True:
    for name in set(re.findall(r"@(rgpu-\S+)", open("/proc/net/unix").read())):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.setblocking(False)
        try:
            connection.connect("\0" + name)
            held.append(connection)
        except BlockingIOError:
            if name not in said:
                print("full", name, flush=True)
                said.add(name)
        except ConnectionRefusedError:
            pass
    held = held[-500:]
    if said:
        time.sleep(0.01)
