#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What must hold of a broker's database at any instant, checked without the broker's code:

    check_invariants.py DATABASE [--idle]

--idle: nobody asks for anything any more, so nothing may be held and nobody may wait.
Prints each violation; status 1 if there is any. Reads only.
"""
import json
import sqlite3
import sys


def violations(db, idle):
    def rows(sql):
        return db.execute(sql).fetchall()

    for (text,) in rows("PRAGMA integrity_check"):
        if text != "ok":
            yield "the database is damaged: " + text
    for row in rows("PRAGMA foreign_key_check"):
        yield "a row refers to nothing: %s" % (row,)
    for gpu, count in rows("SELECT gpu, count(*) FROM holds WHERE held = 1 AND mode = 'exclusive'"
                           " GROUP BY gpu HAVING count(*) > 1"):
        yield "GPU %s is granted exclusively %d times" % (gpu, count)
    for (gpu,) in rows("SELECT gpu FROM holds WHERE held = 1 GROUP BY gpu"
                       " HAVING count(DISTINCT mode) > 1"):
        yield "GPU %s is held both exclusively and in shares" % gpu
    for lease, gpu in rows("SELECT a.lease, a.target FROM holds a JOIN holds b ON b.gpu = a.target"
                           " WHERE a.held = 1 AND b.held = 1 AND a.target <> ''"
                           " AND (a.mode = 'exclusive' OR b.mode = 'exclusive')"):
        yield "lease %s is to go to GPU %s, which is granted to another" % (lease, gpu)
    for gpu, used, room in rows("SELECT uuid, sum(holds.memory + holds.context),"
                                " gpus.memory * overcommit / 100 - reserved FROM gpus JOIN holds ON gpu = uuid"
                                " WHERE held = 1 AND holds.mode = 'shared' GROUP BY uuid"
                                " HAVING sum(holds.memory + holds.context) >"
                                " gpus.memory * overcommit / 100 - reserved"):
        yield "shares of GPU %s take %d of %d bytes" % (gpu, used, room)
    for gpu, mode, held in rows("SELECT uuid, gpus.mode, holds.mode FROM gpus JOIN holds"
                                " ON gpu = uuid WHERE held = 1 AND gpus.mode <> holds.mode"):
        yield "GPU %s of mode %s is held as %s" % (gpu, mode, held)
    for lease, gpu in rows("SELECT lease, gpu FROM holds LEFT JOIN gpus ON uuid = gpu"
                           " WHERE held = 1 AND uuid IS NULL"):
        yield "lease %s holds GPU %s, which is not known" % (lease, gpu)
    for lease, state in rows("SELECT id, state FROM leases WHERE state IN ('queued', 'ended')"
                             " AND id IN (SELECT lease FROM holds WHERE held = 1)"):
        yield "lease %s is %s and holds GPUs" % (lease, state)
    for lease, state in rows("SELECT id, state FROM leases WHERE state IN ('granted', 'lost')"
                             " AND suspension = ''"
                             " AND id NOT IN (SELECT lease FROM holds WHERE held = 1)"):
        yield "lease %s is %s and holds nothing" % (lease, state)
    adopted = {lease for (lease,) in rows("SELECT lease FROM events WHERE kind = 'lease.adopted'")}
    for lease, state, request, held in rows(
            "SELECT id, state, request, (SELECT count(*) FROM holds WHERE lease = id)"
            " FROM leases WHERE state <> 'queued'"):
        wanted = sum(part["count"] for part in json.loads(request)["gpus"])
        # An adopted lease lacks the GPUs of boxes that have not claimed it yet.
        if lease in adopted and 0 < held <= wanted:
            continue
        if held not in (0, wanted) or (state in ("granted", "lost") and held != wanted):
            yield "lease %s (%s) asked for %d GPUs and has %d" % (lease, state, wanted, held)
    granted = {lease for (lease,) in rows("SELECT lease FROM events WHERE kind = 'lease.granted'")}
    for (lease,) in rows("SELECT DISTINCT lease FROM holds"):
        if granted and lease not in granted | adopted and not trimmed(db):
            yield "lease %s was granted without an event" % lease
    for kind, lease, count in rows("SELECT kind, lease, count(*) FROM events WHERE kind IN"
                                   " ('lease.granted', 'lease.ended') GROUP BY kind, lease"
                                   " HAVING count(*) > 1"):
        yield "%d events %s for lease %s" % (count, kind, lease)
    if idle:
        for lease, state in rows("SELECT id, state FROM leases WHERE state <> 'ended'"):
            yield "lease %s is left over: %s" % (lease, state)
        for lease, gpu in rows("SELECT lease, gpu FROM holds WHERE held = 1"):
            yield "GPU %s is left with lease %s" % (gpu, lease)


def trimmed(db):
    return db.execute("SELECT min(sequence) FROM events").fetchone()[0] != 1


def check(path, idle=False):
    # One transaction: the broker may go on writing meanwhile, and all that is compared is of one moment.
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=10, isolation_level=None)
    try:
        db.execute("BEGIN")
        return list(violations(db, idle))
    finally:
        db.close()


if __name__ == "__main__":
    found = check(sys.argv[1], "--idle" in sys.argv[2:])
    print("\n".join(found) if found else "all invariants hold")
    sys.exit(bool(found))
