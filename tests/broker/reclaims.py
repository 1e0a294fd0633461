# SPDX-License-Identifier: BSD-3-Clause
"""reclaims.py before|after TMP: boxes that are only said to be there, before and after the broker's database is restored."""
import base64
import json
import os
import subprocess
import sys
import time

from pool import Api, Refused

when, tmp = sys.argv[1:3]
broker = os.environ["BUILD"] + "/bin/rgpu-brokerd"
api = Api(os.environ["BROKER_SOCKET"])
kept = os.path.join(tmp, "tickets.json")
number = 0


def check(held, text, *details):
    global number
    number += 1
    print("%s %d - %s" % ("ok" if held else "not ok", number, text))
    for detail in details if not held else ():
        print("# %s" % (detail,))


def gpu(box, index, mode="exclusive"):
    return {"uuid": "GPU-%s-%d" % (box, index), "index": index, "model": "Fake", "memory": 1 << 36, "context": 1 << 28,
            "mode": mode}


def register(box):
    gpus = [gpu(box, i) for i in range(6)] + [gpu(box, 6, "shared")]
    return api.call("PUT", "/v1/boxes/" + box, {"instance": when, "addresses": "127.0.0.1:1", "gpus": gpus})


def report(box, running=(), **more):
    epoch = {name: claims(leases[name])["epoch"] for name in running}
    body = {"instance": when, "ended": [], "reclaim": [],
            "sessions": [{"lease": leases[name]["id"], "epoch": epoch[name]} for name in running]}
    return api.call("POST", "/v1/boxes/%s/sync" % box, {**body, **more})


def reclaim(box, name, running=(), ticket=None):
    """The verdict on one lease."""
    lease = leases[name]
    answer = report(box, running, reclaim=[{"lease": lease["id"], "ticket": ticket or lease["tickets"][box]}])
    return answer["reclaimed"][lease["id"]]


def take(name, parts=({},), seconds=0, **request):
    body = {"request": {"gpus": list(parts), **request}, "key": "key of " + name, "job": name}
    answer = api.call("POST", "/v1/leases", body)
    get_ticket(name, answer, seconds)


def get_ticket(name, answer, seconds=0):
    ticket = api.call("POST", "/v1/tickets", {"lease": answer["lease"]["id"], "lifetime": seconds})["ticket"]
    tickets = {line.split()[0]: line.split()[2].rsplit(".", 1)[0] for line in ticket.splitlines() if line}
    leases[name] = {"id": answer["lease"]["id"], "tickets": tickets}


def part(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def text_of(value):
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def claims(lease):
    return part(next(iter(lease["tickets"].values())).split(".")[1])


def changed(ticket, header=None, **members):
    """The ticket with other members; None removes one."""
    head, payload = map(part, ticket.split("."))
    head.update(header or {})
    payload.update(members)
    return ".".join(map(text_of, (head, {name: value for name, value in payload.items() if value is not None})))


def state(name):
    try:
        return api.call("GET", "/v1/leases/" + leases[name]["id"])["lease"]["state"]
    except Refused as error:
        return error.code


def end(name, box):
    api.call("DELETE", "/v1/leases/" + leases[name]["id"])
    report(box, ended=[leases[name]["id"]])


def before():
    for box in ("b1", "b2"):
        register(box)
        report(box, ended=["none"], reclaim=[{"lease": "none"}])  # answered at once
    take("over", box="b1", index=0)
    end("over", "b1")
    take("earlier", box="b1", index=0)
    take("first", box="b1", index=5)
    take("second", box="b2", index=5)
    waits = api.call("POST", "/v1/leases", {"request": {"gpus": [{}], "index": 5}, "queue": True, "job": "waits"})
    subprocess.run([broker, "--state-dir", os.environ["BROKER_DIR"], "--backup", tmp + "/copy"], check=True)
    end("first", "b1")
    get_ticket("waits", waits)
    end("earlier", "b1")
    take("later", box="b1", index=0)
    take("idle", box="b1", index=1)
    take("outdated", seconds=1, box="b1", index=2)
    take("wide", ({"count": 2},), different_boxes=True)
    take("share", ({"mode": "shared", "memory": 1 << 34},), box="b1")
    take("theirs", box="b2")
    while time.time() <= claims(leases["outdated"])["exp"] + 1:
        time.sleep(0.05)
    with open(kept, "w") as file:
        json.dump(leases, file)


def forged():
    ticket = leases["idle"]["tickets"]["b1"]
    gpus = claims(leases["idle"])["gpus"]
    theirs = claims(leases["theirs"])["gpus"]
    for text, forgery in (
            ("without a seal", changed(ticket, seal=None)),
            ("with another seal", changed(ticket, seal="0" * 64)),
            ("with another user", changed(ticket, uid=0 if claims(leases["idle"])["uid"] else 1)),
            ("with another GPU", changed(ticket, gpus=theirs)),
            ("with two GPUs", changed(ticket, gpus=gpus + theirs)),
            ("with a later end", changed(ticket, exp=claims(leases["idle"])["exp"] + 1)),
            ("with another job", changed(ticket, job="other")),
            ("of another key", changed(ticket, {"kid": "other"})),
            ("that is none", "a.b")):
        verdict = reclaim("b1", "idle", ticket=forgery)
        check(isinstance(verdict, str), "a ticket %s is refused" % text, verdict)
    check("is for box b2" in reclaim("b1", "theirs", ticket=leases["theirs"]["tickets"]["b2"]),
          "a box does not reclaim what another serves")
    other = reclaim("b1", "idle", ticket=leases["share"]["tickets"]["b1"])
    check(isinstance(other, str), "nor a lease with the ticket of another", other)
    check(state("idle") == "not-found", "none of this has made a lease", state("idle"))


def granted_again():
    report("b2", ended=["none"], reclaim=[{"lease": "none"}])
    end("second", "b2")
    check(state("waits") == "granted", "a lease that waits in the copy is granted another GPU", state("waits"))
    answer = report("b1", ["waits"], reclaim=[{"lease": leases["waits"]["id"], "ticket": leases["waits"]["tickets"]["b1"]}])
    verdict = answer["reclaimed"][leases["waits"]["id"]]
    check("granted other GPUs since" in str(verdict), "the box on which it has run since does not get it back", verdict)
    check([order["lease"] for order in answer["revoke"]] == [leases["waits"]["id"]], "and ends its sessions", answer["revoke"])
    end("waits", "b2")
    end("first", "b1")


def contradictions():
    check("has ended" in reclaim("b1", "over"), "a lease that had ended before the copy stays so")
    running = ["later", "share"]
    verdict = reclaim("b1", "later", running)
    check(verdict is None, "a session on a GPU that the copy gives to another lease waits", verdict)
    check(state("earlier") == "ending", "the other one ends", state("earlier"))
    report("b1", running, ended=[leases["earlier"]["id"]])
    verdict = reclaim("b1", "later", running)
    check(verdict is True, "and then it is adopted", verdict)
    check("has ended" in reclaim("b1", "earlier", running), "the other one stays ended")
    check(reclaim("b1", "share", running) is True, "a share is adopted")
    check(reclaim("b1", "share", running) is True, "also when it is reclaimed again")
    verdict = reclaim("b1", "outdated", running)
    check("expired" in str(verdict), "an expired ticket is refused where no session runs", verdict)
    check(reclaim("b1", "outdated", running + ["outdated"]) is True, "and not where one does")
    running.append("outdated")
    report("b1", running, ended=["none"], reclaim=[{"lease": "none"}])
    take("new", box="b1", index=1)
    verdict = reclaim("b1", "idle", running)
    check("held by lease " + leases["new"]["id"] in str(verdict), "a lease without sessions yields to a newer one", verdict)
    verdict = reclaim("b1", "idle", running + ["idle"])
    check("held by lease " + leases["new"]["id"] in str(verdict), "and so does one with, since that was granted after the restore",
          verdict)
    answer = report("b1", running + ["idle"], reclaim=[{"lease": leases["idle"]["id"], "ticket": leases["idle"]["tickets"]["b1"]}])
    check([order["reason"] for order in answer["revoke"] if order["lease"] == leases["idle"]["id"]] ==
          [answer["reclaimed"][leases["idle"]["id"]]], "its sessions end with the reason", answer["revoke"])
    end("new", "b1")
    same = changed(leases["idle"]["tickets"]["b1"])
    check(reclaim("b1", "idle", running, ticket=same) is True, "once the GPU is free it is adopted")


def pieces():
    gpus = lambda: sorted(gpu["box"] for gpu in api.call("GET", "/v1/leases/" + leases["wide"]["id"])["lease"]["gpus"])
    running = ["later", "share", "outdated", "idle"]
    check(reclaim("b1", "wide", running) is True and gpus() == ["b1"], "a lease on two boxes comes back from one")
    check(reclaim("b2", "wide") is True and gpus() == ["b1", "b2"], "and from the other")
    lease = api.call("GET", "/v1/leases/" + leases["wide"]["id"])["lease"]
    check((lease["job"], lease["key"]) == ("wide", "key of wide"), "with its job and key", lease)
    answer = report("b2", ["theirs"])
    check(answer["reclaim"] == [leases["theirs"]["id"]] and not answer["revoke"],
          "a box is asked for the ticket of an unknown lease that runs", answer)
    answer = report("b2", ["theirs"], reclaim=[{"lease": leases["theirs"]["id"]}])
    check([order["lease"] for order in answer["revoke"]] == [leases["theirs"]["id"]],
          "and ends the lease if it has none", answer)
    body = {"instance": when, "ended": [], "sessions": [{"lease": leases["theirs"]["id"], "epoch": 1}]}
    answer = api.call("POST", "/v1/boxes/b2/sync", body)
    check([order["lease"] for order in answer["revoke"]] == [leases["theirs"]["id"]],
          "as does a box of an earlier release", answer)


if when == "before":
    leases = {}
    before()
else:
    leases = json.load(open(kept))
    for box in ("b1", "b2"):
        register(box)
    granted_again()
    forged()
    contradictions()
    pieces()
    print("1..%d" % number)
