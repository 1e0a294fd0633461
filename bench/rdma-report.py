#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the tables of bench/rdma from its figures, one JSON object per line.

usage: rdma-report.py RDMA.JSONL BLOCKS.DAT

Figures of one round are compared with the mean of the two measurements of the link in that round; what is
printed is the median over the rounds. BLOCKS.DAT gets lines "block transfer to from" (KiB, KiB, ratios)."""
import json
import statistics
import sys

figures = [json.loads(line) for line in open(sys.argv[1]) if line.strip()]


def values(name, setting=None, round_=None, part=None):
    return [f["value"] for f in figures
            if f["figure"] == name and f.get("setting") == setting
            and round_ in (None, f["round"]) and part in (None, f["part"])]


def median(list_):
    return statistics.median(list_) if list_ else float("nan")


def ratios(name, setting, peer):
    found = []
    for round_ in sorted({f["round"] for f in figures}):
        mine, theirs = values(name, setting, round_), values(peer, None, round_, "large")
        if mine and theirs:
            found.append(statistics.mean(mine) / statistics.mean(theirs))
    return found


def spread(list_):
    if not list_:
        return "        -        "
    return "%.2f (%.2f-%.2f)" % (median(list_), min(list_), max(list_))


def sizes(setting):
    return sorted({int(f["figure"].split()[2]) for f in figures
                   if f.get("setting") == setting and f["figure"].startswith("pinned ")})


def links():
    print("the link itself, median (least-most)")
    for name, what in (("ib_write_bw", "-s 524288"), ("ib_read_bw", "-s 524288"),
                       ("ib_send_lat", "-s 64, half a round trip")):
        found = values(name)
        if found:
            unit = next(f["unit"] for f in figures if f["figure"] == name)
            print("  %-12s %-26s %8.1f %s (%.1f-%.1f)" %
                  (name, what, median(found), unit, min(found), max(found)))


def large():
    if not sizes("512"):
        return
    size = sizes("512")[-1]
    print("\ncopies of %d MiB, as a part of ib_write_bw; in brackets the least and most of the rounds" %
          (size >> 20))
    print("  %-26s %-18s %-18s %-18s %s" %
          ("", "GPUDirect", "blocks of 512 KiB", "not pipelined", "auto"))
    for kind in ("pinned to", "pinned from", "pageable to", "pageable from"):
        name = "%s %d" % (kind, size)
        row = [spread(ratios(name, setting, "ib_write_bw"))
               for setting in ("direct", "512", "unpipelined", "auto")]
        print("  %-26s %-18s %-18s %-18s %s" % (kind + " the device", *row))
    name = "pinned to %d" % size
    print("  %-26s %-18s" % ("pinned to, of ib_read_bw", spread(ratios(name, "512", "ib_read_bw"))))


def blocks(path):
    settings = sorted({f["setting"] for f in figures if f.get("setting", "").startswith("block-")},
                      key=lambda s: int(s[6:]))
    if not settings:
        return
    base = median(values("ib_write_bw", part="blocks"))
    table = {}
    with open(path, "w") as out:
        for setting in settings:
            for size in sizes(setting):
                pair = [median(values("pinned %s %d" % (way, size), setting)) / base
                        for way in ("to", "from")]
                table[setting, size] = pair
                print("%s %d %.3f %.3f" % (setting[6:], size >> 10, *pair), file=out)
    for way, title in enumerate(("to", "from")):
        print("\npinned memory %s the device, block size by transfer size, as a part of ib_write_bw" %
              title)
        print("  %9s" % "" + "".join("%9s" % ("%d KiB" % (size >> 10))
                                     for size in sizes(settings[0])))
        for setting in settings:
            print("  %5s KiB" % setting[6:] +
                  "".join("%9.2f" % table[setting, size][way] for size in sizes(settings[0])))


def small():
    if not values("ib_send_lat"):
        return
    trip = 2 * median(values("ib_send_lat"))
    print("\nsmall operations, median in us; the aim is twice the round trip of %.0f us and shm's own time" % trip)
    print("  %-24s %8s %8s %8s %8s %14s   %s" % ("", "shm", "rdma", "tcp", "aim", "rdma over aim", "rdma by round: tenth, median, nine tenths"))
    for name in ("copy 64 to", "copy 64 from", "launch and synchronize"):
        shm, rdma, tcp = (median(values(name, t)) for t in ("shm", "rdma", "tcp"))
        aim = 2 * trip + shm
        rounds = zip(values(name + " least", "rdma"), values(name, "rdma"), values(name + " most", "rdma"))
        print("  %-24s %8.0f %8.0f %8.0f %8.0f %14.2f   %s" % (name, shm, rdma, tcp, aim, rdma / aim,
                                                             "  ".join("%.0f %.0f %.0f" % r for r in rounds)))


def switches():
    if not values("saxpy client", "rdma"):
        return
    print("\nvoluntary context switches, of ten times SAXPY of 2 Mi elements and a product of 128 rows; rdma to tcp by round")
    print("  %-16s %22s %22s   %s" % ("", "rdma", "tcp", "rdma to tcp"))
    for program in ("saxpy", "product"):
        for who in ("client", "worker"):
            rdma, tcp = (values("%s %s" % (program, who), t) for t in ("rdma", "tcp"))
            print("  %-16s %22s %22s   %s" % (program + " " + who, " ".join("%.0f" % v for v in rdma),
                                              " ".join("%.0f" % v for v in tcp),
                                              " ".join("%.2f" % (a / b) for a, b in zip(rdma, tcp))))


def peers():
    if not values("copy_rate", "peers-rdma"):
        return
    print("\ncopies of 16 MiB from the GPU of one box to that of another, as a part of what the network does in the same round")
    for setting, measure in (("peers-rdma", "ib_write_bw"), ("peers-tcp", "ib_write_bw"), ("peers-tcp", "iperf3")):
        found = []
        for round_ in sorted({f["round"] for f in figures if f["part"] == "peers"}):
            mine = [v * 1e3 for v in values("copy_rate", setting, round_, "peers")]
            theirs = values(measure, None, round_, "peers")
            if mine and theirs and sum(theirs):
                found.append(statistics.mean(mine) / statistics.mean(theirs))
        if found:
            print("  %-6s / %-12s %s" % (setting[6:], measure, spread(found)))


links()
peers()
large()
blocks(sys.argv[2])
small()
switches()
