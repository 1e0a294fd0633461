#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A page of another web site in an administrator's browser reaches the broker through the forwarded
# port and changes and reads nothing; the status page works through the same port.
. "$(dirname "$0")/broker.sh"
READY_SECONDS=130 # a browser that starts from a cold disk, twice

start_broker --anonymous-read=yes
start_pool_box box1
lease=$(api POST /v1/leases '{"request": {"gpus": [{}]}}' | at lease.id)

json='Content-Type: application/json' undrain='POST /v1/boxes/box1/undrain'
requests() {
    local way host type origin
    for way in unix tcp; do
        for host in localhost LOCALHOST:7311 127.0.0.1:7311 '[::1]:7311' "$(hostname)" "$(hostname):80"; do
            echo "$way 200 GET /v1/boxes|Host: $host"
        done
        for host in evil.example:7311 localhost.evil.example 127.0.0.1.evil.example '' '[' \
            '[::1].evil.example' '[::1' localhost:80@evil.example 'localhost:80 evil.example'; do
            echo "$way 421 GET /v1/boxes|Host: $host"
        done
        echo "$way 400 GET /v1/boxes"
    done
    echo "unix 200 $undrain|Host: localhost|$json"
    echo "unix 200 $undrain|Host: localhost|$json; charset=utf-8"
    for type in text/plain application/x-www-form-urlencoded application/jsonp; do
        echo "unix 415 $undrain|Host: localhost|Content-Type: $type"
    done
    echo "unix 415 $undrain|Host: localhost"
    echo "unix 200 $undrain|Host: localhost:7|Origin: http://localhost:7|$json"
    for origin in http://evil.example http://localhost:8 http://localhost null http://localhost:7; do
        echo "unix 403 $undrain|Host: localhost:70|Origin: $origin|$json"
    done
    for site in cross-site same-site; do
        echo "unix 403 GET /v1/boxes|Host: localhost|Sec-Fetch-Site: $site"
    done
    echo "unix 200 GET /|Host: localhost|Sec-Fetch-Site: cross-site"
}
while IFS=$'\t' read -r way wanted given what; do
    is "$given" "$wanted" "over $way: $what"
done < <(requests | python3 "$TOP/tests/broker/foreign_heads.py" "$BROKER_SOCKET" "$BROKER")
logs "$BROKER_LOG" 'request refused: .*no name of this broker' "the log has it"
command -v chromium >/dev/null || { skip "chromium is not there"; done_testing; }

start page python3 "$TOP/tests/broker/foreign_page.py" "$BROKER_SOCKET" "$lease" box1
await_line page '^ports' || bail "the foreign page did not start"
read -r _ forwarded other <<<"$LINE"
attacked="document.title=='done'&&document.getElementById('keys').textContent=='none'"
page_at() { echo "js:location.host=='$1'&&$attacked"; }
start browser python3 "$TOP/tests/broker/browse.py" "$TMP/profile" "http://evil.example:$other/" \
    resolve:evil.example=127.0.0.1 "$(page_at "evil.example:$other")" \
    "go:http://localhost:$other/" "$(page_at "localhost:$other")" \
    "go:http://evil.example:$forwarded/attack" "$(page_at "evil.example:$forwarded")" \
    "go:http://localhost:$forwarded/" '>live</span>' '>box1</a></td><td data-column="State">up</td>' "<code>$lease</code></a></td><td data-column=\"State\">granted"
seen() { await_line browser "^seen $1"; }
ok "a page of another site has tried all and read no keys" seen "js.*evil.example:$other"
ok "so has a page at another port of the same host" seen "js.*localhost:$other"
ok "and one whose name leads to the forwarded port" seen "js.*evil.example:$forwarded"
ok "the status page is live through the forwarded port" seen ".*live"
ok "no box is drained" seen '>box1</a></td><td data-column="State">up</td>'
ok "no lease is revoked" seen ".*$lease"
unlike "$(api GET '/v1/events?after=0')" '"(box.drained|lease.ending)"' "nor was any meanwhile"
done_testing
