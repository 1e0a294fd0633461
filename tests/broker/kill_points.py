# SPDX-License-Identifier: BSD-3-Clause
"""kill_points.py BUILD TMP: kills the broker at every fault point, the first time and later ones."""
import os
import re
import subprocess
import sys
import time

import scenario

build, tmp = sys.argv[1:3]
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "broker")
# The scenario does not come by these: leases-are-adopted.t and backup-and-restore.t do, and no test by those of moves.
ELSEWHERE = ("adopt.", "move.", "restore.")


def points_of(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(where, name)) as file:
                    yield from re.findall(r'fault_point\("([a-z_.]+)"\)', file.read())


points = sorted(point for point in set(points_of(source)) if not point.startswith(ELSEWHERE))
if len(points) < 10:
    sys.exit("the fault points are not where this test looks for them")
number = 0


def report(held, text, details=()):
    global number
    number += 1
    print("%s %d - %s" % ("ok" if held else "not ok", number, text), flush=True)
    for detail in details:
        print("#   %s" % detail, file=sys.stderr)


def try_point(point, occurrence):
    directory = os.path.join(tmp, "%s-%d" % (point, occurrence))
    os.makedirs(directory)
    broker = scenario.Broker(build, directory)
    deaths = 0
    if not broker.start("%s:kill@%d" % (point, occurrence)):
        deaths += 1
        broker.start()
    boxes = scenario.start_boxes(broker)
    client = scenario.Client(broker, boxes)
    found = []

    def revive():
        """Whatever the broker was doing when it died: the database must be sound as it lies."""
        nonlocal deaths, found
        while not done:
            if not broker.alive():
                deaths += 1
                found += scenario.violations(broker, boxes)
                broker.start()
            time.sleep(0.005)

    done = False
    keeper = scenario.threading.Thread(target=revive, daemon=True)
    keeper.start()
    try:
        scenario.await_boxes(client, boxes)
        for turn in range(2):
            scenario.one_of_everything(client, boxes, "t%d" % turn)
        scenario.await_idle(client)
        scenario.await_boxes(client, boxes)  # they may just be registering again
    finally:
        done = True
        keeper.join()
    found += scenario.violations(broker, boxes, idle=True)
    free = [gpu["uuid"] for gpu in client.call("GET", "/v1/gpus")["gpus"]
            if gpu["state"] != "free"]
    found += ["GPU %s is not free" % gpu for gpu in free]
    for box in boxes:
        box.stop()
    broker.kill()
    if deaths == 0 and occurrence > 1:
        report(True, "# SKIP %s is reached less than %d times" % (point, occurrence))
    else:
        report(deaths == 1 and not found, "killed at %s, occurrence %d" % (point, occurrence),
               found + (["died %d times" % deaths] if deaths != 1 else []))


for point in points:
    for occurrence in (1, 4):
        try_point(point, occurrence)
print("1..%d" % number)
