#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The status page: one file without anything from elsewhere, which a browser fills and keeps live.
. "$(dirname "$0")/broker.sh"

start_broker --anonymous-read=yes
start_pool_box box1
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}, "job": "<b>bold</b>"}' | at lease.id)
page=$(python3 -c 'import sys, urllib.request; r = urllib.request.urlopen(sys.argv[1]); print(r.headers["Content-Security-Policy"]); print(r.read().decode())' "http://$BROKER/")
like "$page" "^default-src 'none'" "nothing may be loaded from elsewhere"
unlike "$page" '(src|href)=|https?://|@import' "and nothing is asked for"
ok "all of it is small" [ "${#page}" -lt 100000 ]
kinds() { api GET "/v1/events?$1" | grep -o '"kind": *"[a-z.]*"' | cut -d '"' -f 4 | sort -u | xargs; }
other=$(api POST /v1/leases '{"request": {"gpus": [{}]}}' | at lease.id)
api DELETE "/v1/leases/$other" >/dev/null
await "its end" lease_is "$other" ended
is "$(kinds "lease=$lease")" lease.granted "the events of a lease"
like "$(kinds "box=box1")" '^box.registered lease.ended .*lease.granted' "of a box, and of leases that had GPUs there"
is "$(kinds box=box)" "" "and of no other"
is "$(api GET '/v1/overview?find==box1&map=1' | at map.rows.0 | tr -d ' \n')" '["box1","up","uf"]' "a map has a letter for each GPU"
is "$(api GET '/v1/overview?find==box&map=1' | at map.count)" 0 "a whole name is found by no part of it"
command -v chromium >/dev/null || { skip "chromium is not there"; done_testing; }

start browser python3 "$TOP/tests/broker/browse.py" "$TMP/profile" "http://$BROKER/" \
    '>live</span>' '2 GPUs (1 free), 1 leases, 0 waiting' '>box1</a></td><td data-column="State">up</td>' \
    'gpu exclusive used' "<code>$lease</code></a></td><td data-column=\"State\">granted</td><td data-column=\"User\">$(id -un)</td>" \
    '&lt;b&gt;bold&lt;/b&gt;' '>lease.granted</td>' '1 leases, 1 waiting' \
    '1 of 2 GPUs of its kind are free, it wants 2'
READY_SECONDS=130 # a browser that starts from a cold disk, twice
seen() { await_line browser "^seen .*$1"; }
ok "the page follows the broker" seen live
ok "figures" seen 'GPUs'
ok "boxes" seen 'box1'
ok "GPUs" seen 'gpu exclusive used'
ok "leases, and whose" seen "$lease"
ok "names are text, whatever they contain" seen 'bold'
ok "events" seen 'lease.granted'
api POST /v1/leases '{"request": {"gpus": [{"count": 2}]}, "queue": true}' >/dev/null
ok "what happens is shown at once" seen '1 waiting'
ok "and why somebody waits" seen 'it wants 2'
done_testing
