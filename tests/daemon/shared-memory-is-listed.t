#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The page on security lists every mapping that running daemons share, by its exact name, with the programs that map it
# and, if it is always the same, its size.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${VALGRIND:-}" ] || skip_all "valgrind shares memory of its own"
preload=$(preload_for_sanitizers)

# rows: NAME|PROGRAMS|SIZE of the table.
rows() {
    sed -n '/^### Shared memory$/,/^### Floods$/p' "$TOP/docs/admin/security.md" | grep -E '^[|] `(/|STATE/)' | tr -d '\140' |
        awk -F' *[|] *' -v OFS='|' -v state="${BROKER_DIR:-}" '{ sub("^STATE", state, $2); print $2, $3, $4 }'
}

# shared PID: NAME|KIB for each file that it maps shared. What is mapped twice counts once.
shared() {
    python3 - "/proc/$1/maps" <<'EOF'
import sys
spans = {}
for line in open(sys.argv[1]):
    words = line.split(None, 5)
    if words[1][3] != "s":
        continue
    name = words[5].strip() if len(words) > 5 else "(no name)"
    name = name[:-len(" (deleted)")] if name.endswith(" (deleted)") else name
    first, end = (int(part, 16) for part in words[0].split("-"))
    spans.setdefault((name, words[4]), set()).add((int(words[2], 16), end - first))
for (name, _), parts in sorted(spans.items()):
    print("%s|%d KiB" % (name, sum(size for _, size in parts) // 1024))
EOF
}

# unlisted PID PROGRAM: what the table lacks.
unlisted() {
    shared "$1" | while IFS='|' read -r name size; do
        row=$(rows | awk -F'|' -v name="$name" '$1 == name')
        if [ -z "$row" ]; then echo "$name"; continue; fi
        IFS='|' read -r _ programs wanted <<<"$row"
        case " $programs " in *" $2 "*) ;; *) echo "$name is not listed for $2" ;; esac
        case "$wanted" in *[0-9]" KiB") [ "$wanted" = "$size" ] || echo "$name has $size" ;; esac
    done
}

is "$(rows | cut -d'|' -f1 | sort | uniq -d)" "" "each mapping has one row"
unlike "$(rows | cut -d'|' -f1)" '[*?]' "and an exact name"

start_broker
is "$(unlisted "$BROKER_PID" rgpu-brokerd)" "" "the broker shares what the page lists"
like "$(shared "$BROKER_PID")" 'pool.sqlite-shm' "the broker's mappings are seen"

start_box --memory-check 50ms --transports shm
start holder env ${preload:+LD_PRELOAD="$preload"} LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$BUILD/tests/hold-memory"
await_line holder holding
children() { ps -o pid=,comm= --ppid "$BOX_PID,$(pgrep -P "$BOX_PID" -x rgpu-spawner)"; }
monitor_maps() { shared "$(children | awk '$2 == "rgpu-monitor" { print $1 }')" | grep rgpu-sim; }
await "the monitor" monitor_maps
is "$(unlisted "$BOX_PID" rgpud)" "" "rgpud shares what the page lists"
is "$(shared "$BOX_PID" | cut -d'|' -f1 | xargs)" "/memfd:rgpu-lease /memfd:rgpu-lease-rules" "the account of a lease"
wrong='' seen='' writable=''
while read -r pid program; do
    [ -e "/proc/$pid/maps" ] || continue
    wrong+=$(unlisted "$pid" "$program")
    seen+=$(shared "$pid" | sed "s,^,$program ,")$'\n'
    writable+=$(awk -v program="$program" '$2 ~ /w.s/ { print program, $6 }' "/proc/$pid/maps")$'\n'
done < <(children)
is "$wrong" "" "workers and monitor share what the page lists"
for name in rgpu rgpu-host-memory rgpu-lease rgpu-lease-rules rgpu-sim; do
    like "$seen" "^rgpu-worker /memfd:$name\|" "a worker's mapping is seen: $name"
done
like "$seen" '^rgpu-monitor /memfd:rgpu-sim\|' "the monitor's mapping is seen"
like "$writable" '^rgpu-worker /memfd:rgpu-lease$' "a worker writes the words of its lease"
unlike "$writable" 'rgpu-lease-rules|^rgpu-monitor' "and no rules, and the monitor nothing"

start more env LD_PRELOAD="${preload:+$preload:}$BUILD/tests/uninvited-mapping.so" "$BUILD/bin/rgpud" --standalone \
    --devices sim:1 --listen 127.0.0.1:0
await_line more ready || bail "the box with one mapping more did not start"
is "$(unlisted "$PID" rgpud)" "/memfd:uninvited" "one mapping more is found"
done_testing
