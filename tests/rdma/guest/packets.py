# SPDX-License-Identifier: BSD-3-Clause
"""Watches the RoCE packets of connections that leave a network interface until standard input ends;
then tells the length of the largest (IP and all in it) and the traffic classes that were seen."""
import select
import socket
import sys

ALL, ROCE_PORT, MANAGEMENT_PAIR = 3, 4791, 1
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL))
packets.bind((sys.argv[1], ALL))
packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
print("watching", flush=True)
largest, classes = 0, set()
while True:
    ready = select.select([packets, sys.stdin], [], [])[0]
    if packets in ready:
        data, source = packets.recvfrom(64)
        header = (data[0] & 15) * 4
        if source[2] == socket.PACKET_OUTGOING and data[0] >> 4 == 4 and data[9] == 17 and \
                int.from_bytes(data[header + 2:header + 4], "big") == ROCE_PORT and \
                int.from_bytes(data[header + 13:header + 16], "big") != MANAGEMENT_PAIR:
            largest = max(largest, int.from_bytes(data[2:4], "big"))
            classes.add(data[1])
    elif sys.stdin in ready:
        break
print(f"largest={largest} classes={','.join(str(c) for c in sorted(classes))}")
