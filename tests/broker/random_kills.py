"""random_kills.py BUILD TMP SECONDS: many clients, and a broker that is killed again and again."""
import random
import sys
import threading
import time

import scenario

build, tmp, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
seed = random.randrange(1 << 32)
broker = scenario.Broker(build, tmp)
broker.start()
boxes = scenario.start_boxes(broker, count=3, gpus=4, shared=2)
scenario.await_boxes(scenario.Client(broker, boxes), boxes)
end = time.monotonic() + seconds
counts = {"granted": 0, "queued": 0, "busy": 0, "kills": 0}
clients = []


def work(index):
    choice = random.Random(seed + index)
    client = scenario.Client(broker, boxes)
    clients.append(client)
    turn = 0
    while time.monotonic() < end:
        turn += 1
        key = "%d/%d" % (index, turn)
        parts = choice.choice([
            [{"count": 1}], [{"count": 2}], [{"count": 5}],
            [{"count": 1, "mode": "shared", "memory": choice.randrange(1, 60) * scenario.GB}],
            [{"count": 1}, {"count": 2, "mode": "shared", "memory": 10 * scenario.GB}]])
        if choice.random() < 0.1:
            client.call("POST", "/v1/leases/release", {"key": key})
        outcome = client.acquire(key, parts, queue=choice.random() < 0.5)
        counts[outcome] = counts.get(outcome, 0) + 1
        while len(client.held) > choice.randrange(1, 4):
            client.release(choice.choice(list(client.held)))
    client.release_all()


workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for worker in workers:
    worker.start()
found = []
killer = random.Random(seed)
while time.monotonic() < end:
    time.sleep(killer.uniform(0.05, 0.5))
    broker.kill()
    counts["kills"] += 1
    found += scenario.violations(broker, boxes)
    broker.start()
for worker in workers:
    worker.join()
client = scenario.Client(broker, boxes)
scenario.await_idle(client)
found += scenario.violations(broker, boxes, idle=True)
print("seed %d: %s" % (seed, counts))
for violation in found:
    print(violation)
sys.exit(bool(found) or counts["kills"] < 3 or counts["granted"] < 3)
