#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The status page with a thousand boxes: problems first, as long as a page may be, at the width of a phone
# too, and found by what one looks for.
. "$(dirname "$0")/broker.sh"

command -v chromium >/dev/null || skip_all "chromium is not there"
start_broker --anonymous-read=yes --away-after 60min
python3 - "$BROKER_SOCKET" "$TOP/tests/broker" <<'END' || bail "no pool"
import sys
sys.path.insert(0, sys.argv[2])
import pool
api = pool.Api(sys.argv[1])
def register(name, gpus):
    api.call("PUT", "/v1/boxes/" + name, {
        "instance": "i", "addresses": "10.0.0.1:7300,10.1.0.1:7300", "transports": "rdma,tcp",
        "gpus": [{"uuid": "GPU-%s-%d" % (name, i), "index": i, "memory": 140 << 30,
                  "model": "NVIDIA H200", "mode": "shared" if i > 5 else "exclusive"} for i in range(gpus)]})
def report(names):
    """All at once, since the broker answers a report when the next one is due."""
    lines = []
    for name in names:
        line = pool.UnixConnection(sys.argv[1])
        line.request("POST", "/v1/boxes/%s/sync" % name, '{"instance": "i", "sessions": [], "ended": []}',
                     {"Content-Type": "application/json"})
        lines.append(line)
    for line in lines:
        assert line.getresponse().status == 200
boxes = ["gpubox%04d" % number for number in range(1000)]
for name in boxes[1:] + boxes[:1]:
    register(name, 8)
register("gpubox0617", 7) # it has lost one
for first in range(0, 1000, 100):
    report(boxes[first:first + 100])
api.call("POST", "/v1/boxes/gpubox0003/drain", {"reason": "fan 3 rattles, the spare part is ordered, case 4711, ask the hall's technician before it is opened"})
api.call("POST", "/v1/gpus/gpubox0004:2/drain", {"reason": "ECC-errors-in-a-word-that-is-longer-than-a-column-of-a-phone-is-wide"})
api.call("POST", "/v1/leases", {"owner": 1, "job": "a job of a name that takes its place", "queue": True, "request": {"box": "gpubox000[34]", "gpus": [{"count": 6}], "same_box": True}})
api.call("POST", "/v1/leases", {"owner": 1, "job": "a-job-of-one-word-" + "that-does-not-end-" * 5, "request": {"gpus": [{"count": 6}], "different_boxes": True}})
END
# Every list within the window, and nothing wider than it.
fits='document.documentElement.scrollWidth <= innerWidth && document.querySelectorAll("#boxes td .gpu").length === 200'
# No cell lies over another one of its row.
apart='[...document.querySelectorAll("tbody tr")].every(row => { const all = [...row.cells].flatMap((cell, i) => [...cell.getClientRects()].map(box => [i, box])); return all.every(([i, a], n) => all.slice(n + 1).every(([j, b]) => i === j || a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1)); })'
# Words of ordinary length are not torn: a cell of one word has one line.
untorn='[...document.querySelectorAll("#boxes td:first-child, #waiting td:nth-child(2)")].every(cell => Math.max(...[...cell.childNodes].map(n => { const r = document.createRange(); r.selectNodeContents(n); return r.getClientRects().length; })) === 1)'
last='[...document.querySelectorAll("#boxes .gpus")].every(g => g.lastChild.getBoundingClientRect().right <= innerWidth)'
narrow='document.documentElement.scrollWidth <= innerWidth'
# The steps that look at a page at three widths, light and dark.
looks=()
look_at() { # NAME
    local scheme width
    for scheme in light dark; do
        looks+=("scheme:$scheme" "js:getComputedStyle(document.body).color === \"rgb($([ $scheme = dark ] && echo 255, 255, 255 || echo 0, 0, 0))\"")
        for width in 1400 800 390; do
            looks+=("width:$width" "js:innerWidth === $width && $narrow" "js:$apart" ${SHOTS:+"shot:$SHOTS/$1-$width-$scheme.png"})
        done
    done
    looks+=(scheme:light width:1400)
}
look_at box
looks_at_box=("${looks[@]}") looks=()
look_at lease
looks_at_lease=("${looks[@]}") looks=()
look_at pool
start browser python3 "$TOP/tests/broker/browse.py" "$TMP/profile" "http://$BROKER/" \
    '>live</span>' '1000 boxes, 8000 GPUs' 'GPU 7 is missing' '1–25 of 1000' \
    'drained: fan 3 rattles' 'js:/fan 3 rattles.* \(root, /.test(document.querySelector("#boxes").textContent)' \
    'js:/in-a-word/.test(document.querySelector("#boxes .gpu.drained[title*=ECC]").title)' 'drained (gpubox0003: fan 3 rattles' \
    'js:/gpubox0003drained: fan 3 rattles/.test(document.querySelector("#problems").textContent)' \
    'js:/gpubox0004GPU 2 is drained: ECC-errors/.test(document.querySelector("#problems").textContent)' \
    'js:document.querySelector("#boxes tbody td").textContent === "gpubox0000"' 'drained, away or missing' 'that-does-not-end' \
    'js:document.querySelector("#lists section:not([hidden])").id === "problems"' \
    width:1400 "js:$fits" "js:$last" "js:$apart" "js:$untorn" ${SHOTS:+"shot:$SHOTS/page-1400.png"} \
    width:800 "js:innerWidth === 800 && $fits" "js:$last" "js:$apart" ${SHOTS:+"shot:$SHOTS/page-800.png"} \
    width:390 "js:innerWidth === 390 && $fits" "js:$last" "js:$apart" ${SHOTS:+"shot:$SHOTS/page-390.png"} \
    'js:document.documentElement.scrollHeight < 9000' \
    'js:document.querySelector("#boxes button:last-of-type").click() === undefined' '26–50 of 1000' \
    width:1400 'js:document.querySelectorAll("div.map a").length === 1000' key:m 'js:document.activeElement.textContent === "gpubox0000"' \
    key:ArrowDown key:ArrowUp key:ArrowRight key:ArrowRight key:ArrowRight 'js:document.activeElement.textContent === "gpubox0003"' \
    'js:/^gpubox0003: drained, 8 GPUs, 0 free$/.test(document.activeElement.title)' key:Enter 'js:location.hash === "#box/gpubox0003"' \
    'State</dt><dd>drained: fan 3 rattles' 'js:document.querySelectorAll("#gpus tbody tr").length === 8 && document.querySelector("#boxes").hidden' \
    'js:/box.drained/.test(document.querySelector("#timeline li.bad").textContent)' 'js:/by root/.test(document.querySelector("#timeline").textContent) && !/uid=/.test(document.querySelector("#timeline").textContent)' "${looks_at_box[@]}" \
    key:Escape 'js:location.hash === "" && !document.querySelector("#boxes").hidden' 'key:/' 'js:document.activeElement.id === "find"' key:Escape \
    'js:document.querySelector("#leases tbody a").click() === undefined' 'js:location.hash.startsWith("#lease/L")' 'Had GPUs</dt>' \
    'js:/that-does-not-end/.test(document.querySelector("#facts").textContent)' 'js:/lease.granted/.test(document.querySelector("#timeline").textContent) && /user (root|daemon)/.test(document.querySelector("#timeline").textContent)' \
    "${looks_at_lease[@]}" 'key:?' 'js:document.querySelector("dialog").open' key:Escape 'js:!document.querySelector("dialog").open' \
    key:Escape 'js:location.hash === ""' "${looks[@]}" \
    'js:(find => { find.value = "box061"; find.dispatchEvent(new Event("input")); return true; })(document.getElementById("find"))' \
    '>gpubox0617</a></td>' 'js:document.querySelectorAll("#boxes tbody tr").length === 10'
READY_SECONDS=130
seen() { await_line browser "^seen .*$1"; }
ok "figures" seen '8000 GPUs'
ok "a problem" seen 'is missing'
ok "a page of boxes at a time" seen '1–25 of 1000'
ok "why a box is drained, and who said so" seen 'root'
ok "and a GPU, to those who point at it" seen 'in-a-word'
ok "and that somebody waits for it" seen 'drained .gpubox0003'
ok "a drained box is a problem" seen 'js:/gpubox0003drained: fan'
ok "and a drained GPU" seen 'js:/gpubox0004GPU 2 is drained'
ok "boxes are in the order of their names" seen 'js:.*=== .gpubox0000'
ok "a legend says what the pictures mean" seen 'drained, away or missing'
ok "a lease with a long name" seen 'that-does-not-end'
ok "the problem stands first" seen '"problems"'
ok "nothing lies over anything on a wide window" seen 'every.row'
ok "no word is torn" seen 'nth-child.2'
ok "all fits on a smaller one" seen 'innerWidth === 800'
ok "and nothing lies over anything" seen 'every.row'
ok "and on the window of a phone, eight GPUs beside each other" seen 'scrollHeight < 9000'
ok "the next page" seen '26–50'
ok "a map of all boxes" seen 'div.map a'
ok "through which the keyboard goes" seen 'js:document.activeElement.textContent === .gpubox0003'
ok "to the page of a box" seen 'js:location.hash === .#box/gpubox0003'
ok "with its GPUs" seen 'js:.*#gpus tbody tr'
ok "and what has happened to it" seen 'js:/box.drained/'
ok "which fits the window of a phone, and is dark where that is wanted" seen 'innerWidth === 390'
ok "back, and to the search" seen 'js:document.activeElement.id === .find'
ok "a lease has a page, too" seen 'js:location.hash.startsWith'
ok "with its job" seen 'js:/that-does-not-end'
ok "and what has happened to it" seen 'js:/lease.granted/'
ok "the keys are explained" seen 'js:document.querySelector..dialog...open'
ok "what is looked for is found" seen 'tr.*length === 10'
done_testing
