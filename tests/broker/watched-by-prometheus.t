#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real Prometheus reads what broker and box say, and every alert and every panel of the dashboard finds
# its figures there.
. "$(dirname "$0")/broker.sh"

command -v prometheus >/dev/null || skip_all "prometheus is not there"
ok "the alerts are well-formed" promtool check rules "$TOP/config/rgpu-alerts.yml"
cat >"$TMP/standby.yml" <<END
rule_files: ["$TOP/config/rgpu-alerts.yml"]
tests:
  - interval: 1m
    input_series:
      - {series: 'up{job="rgpu-brokerd",instance="one"}', values: "1x9 0x10"}
      - {series: 'up{job="rgpu-brokerd",instance="two"}', values: "0x20"}
    alert_rule_test:
      - {alertname: RgpuBrokerDown, eval_time: 9m}
      - alertname: RgpuBrokerDown
        eval_time: 15m
        exp_alerts: [{exp_labels: {severity: critical, job: rgpu-brokerd}, exp_annotations: {summary: "No broker answers.",
                      description: "Sessions and valid tickets go on; nobody gets a new lease. See journalctl -u rgpu-brokerd."}}]
END
ok "a broker that stands by raises no alert, and two that are away do" promtool test rules "$TMP/standby.yml"
start_broker --anonymous-read=yes --synchronous full
start_pool_box box1 --metrics-listen 127.0.0.1:0
port=$(grep -o 'metrics_listen=.* port=[0-9]*' "$BOX_LOG" | grep -o '[0-9]*$')
web "http://$BROKER/metrics" >"$TMP/broker.prom"
web "http://127.0.0.1:$port/metrics" >"$TMP/box.prom"
ok "what the broker says" promtool check metrics <"$TMP/broker.prom"
ok "and the box" promtool check metrics <"$TMP/box.prom"
like "$(cat "$TMP/box.prom")" '^rgpu_build_info\{program="rgpud",version="[0-9.]+"\} 1' "which program it is"
is "$(python3 -c 'import sys, urllib.request as u, urllib.error as e
try: u.urlopen(sys.argv[1])
except e.HTTPError as error: print(error.code)' "http://127.0.0.1:$port/")" 404 "nothing else is to be had there"

lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "ticket": true}')
RGPU_TICKET=$(at ticket <<<"$lease") "$CLIENT" "$BOX" echo hi >/dev/null
api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "queue": true}' >/dev/null
web "http://$BROKER/metrics" >"$TMP/broker.prom"
like "$(cat "$TMP/broker.prom")" "^rgpu_lease_gpus\{lease=\"$(at lease.id <<<"$lease")\",owner=\"$(id -u)\",state=\"granted\"\} 1" "a lease"
like "$(cat "$TMP/broker.prom")" '^rgpu_pool_box_leases\{box="box1",model="[^"]+"\} 1' "its GPU"
is "$(sed -n 's/^rgpu_series_left_out{.*} //p' "$TMP/broker.prom" | sort -u)" 0 "and nothing is left out"
like "$(cat "$TMP/broker.prom")" '^rgpu_acquire_seconds_count 2' "how long acquires took"
like "$(cat "$TMP/broker.prom")" '^rgpu_sync_wait_seconds_count [1-9]' "and the disk"
like "$(cat "$TMP/broker.prom")" '^rgpu_queue_length 1' "who waits"
like "$(web "http://127.0.0.1:$port/metrics")" '^rgpu_box_session_start_seconds_count 1' "and how long the session took to start"

mkdir "$TMP/prometheus"
cat >"$TMP/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$TOP/config/rgpu-alerts.yml"]
scrape_configs:
  - {job_name: rgpu-brokerd, static_configs: [{targets: ["$BROKER"]}]}
  - {job_name: rgpud, static_configs: [{targets: ["127.0.0.1:$port"]}]}
END
web=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start prometheus prometheus --config.file "$TMP/prometheus.yml" --storage.tsdb.path "$TMP/prometheus" \
    --web.listen-address "127.0.0.1:$web" --log.level warn
cat >"$TMP/ask.py" <<'END'
"""Whether all expressions are answered: ask.py URL DASHBOARD; those that are not go to standard output."""
import json, re, sys, urllib.parse, urllib.request
def ask(path):
    return json.load(urllib.request.urlopen(sys.argv[1] + path))["data"]
lacking = []
for panel in json.load(open(sys.argv[2]))["panels"]:
    for target in panel["targets"]:
        expression = target["expr"].replace("$__rate_interval", "1m")
        expression = expression.split(" == 0")[0]
        if not ask("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))["result"]:
            lacking.append(expression)
for group in ask("/api/v1/rules")["groups"]:
    for rule in group["rules"]:
        if rule["health"] != "ok":
            lacking.append("%s: %s %s" % (rule["name"], rule["health"], rule.get("lastError", "")))
        for name in re.findall(r"\b(?:rgpu|process)_[a-z_]+", rule["query"]):
            if not ask("/api/v1/query?query=" + name)["result"]:
                lacking.append("%s: %s" % (rule["name"], name))
print("\n".join(lacking))
sys.exit(bool(lacking))
END
ok "every panel and every alert has its figures" await "all figures" \
    sh -c "python3 '$TMP/ask.py' 'http://127.0.0.1:$web' '$TOP/config/rgpu-dashboard.json' >'$TMP/lacking' 2>&1"
is "$(cat "$TMP/lacking")" "" "none lacks"
is "$(python3 - "$TOP/config/rgpu-dashboard.json" <<'END'
import json, sys
panels = json.load(open(sys.argv[1]))["panels"]
places = [(p["gridPos"]["x"] + i, p["gridPos"]["y"] + j) for p in panels for i in range(p["gridPos"]["w"]) for j in range(p["gridPos"]["h"])]
print(len(places) - len(set(places)), max(x for x, y in places) < 24, len({p["id"] for p in panels}) == len(panels))
END
)" "0 True True" "and the panels stand beside each other"
done_testing
