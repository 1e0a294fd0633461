#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A session over tcp survives its connections: programs that check their own results run while a proxy cuts every connection again
# and again, at bytes that a seed decides, also where a new one proves itself. They notice nothing, and nothing is left.
# SEEDS of the environment are run in place of those below, each with every program: SEEDS="$(seq 1 10)" is more than a
# thousand cuts.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tickets.sh"
PROGRAMS=$BUILD/tests/programs
CUTS=${CUTS:-20}
if [ -n "${SEEDS:-}" ]; then
    names=(threads overlap small-copies callbacks copies pinned managed batches pools textures rectangles registered
        graph/graph-build graph/graph-memory graph/graph-repeat array/array-kinds freed-in-order)
else
    names=(threads small-copies graph/graph-memory)
fi
# A program that ends while its connection is lost is waited for.
export RGPU_RECONNECT=20
within=(timeout --kill-after=5 "${WITHIN:-120}")
cut_in_all=0

cuts() { grep -c 'is lost, the session waits' "$BOX_LOG" || true; }

# begin_cutter SEED MEAN: a proxy in front of the box; sets BEHIND, its address.
begin_cutter() {
    start cutter python3 -B "$TOP/tests/session/cutter.py" "$BOX" "$1" "$2" "$CUTS" 20000
    await_line cutter '^port ([0-9]+)' || bail "no proxy"
    BEHIND=127.0.0.1:${LINE#port }
}

# survives LABEL SEED MEAN COMMAND...: it ends well and as often as it is cut the session goes on.
survives() {
    local label=$1 before status=0
    before=$(cuts)
    begin_cutter "$2" "$3"
    shift 3
    "$@" >"$TMP/program.out" 2>"$TMP/program.err" </dev/null || status=$?
    stop "$PID"
    is "$status" 0 "$label"
    [ $status = 0 ] || tail -n 5 "$TMP/program.out" "$TMP/program.err" >&2
    cut_in_all=$((cut_in_all + $(cuts) - before))
}

plainly() { BOXES=$BEHIND on_box RGPU_TRANSPORT=tcp "$@"; }
by_ticket() { with_ticket "$(ticket_for "$BEHIND")" RGPU_TRANSPORT=tcp "$@"; }

# all_seeds LABEL COMMAND...: each seed with each program.
all_seeds() {
    local label=$1 seed name number=0
    shift
    for seed in ${SEEDS:-1}; do
        for name in "${names[@]}"; do
            number=$((number + 1))
            survives "$label: $name, seed $seed" "$seed$number" $((1 << (10 + (seed + number) % 8))) \
                "$@" "${within[@]}" "$PROGRAMS/$name"
        done
    done
}

start_box --devices sim:1 --tcp-connections 3
all_seeds "one connection" plainly RGPU_TCP_CONNECTIONS=1
survives "three connections" 5 2000000 plainly RGPU_TCP_CONNECTIONS=3 "${within[@]}" "$BUILD/tests/wide-copies" some-text 3
continued=$(grep -c 'continues over another connection' "$BOX_LOG")
# A program may end while its connection is lost.
ok "the log says of nearly all that another one is there" test $((continued + cut_in_all / 10 + 2)) -ge "$(cuts)"
ok "and of none twice" test "$continued" -le "$(cuts)"

files() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
settled() { [ "$(files "$1")" = "$2" ]; }
. "$TOP/tests/session/faults.sh"
begin_cutter 4 20000
cutter=$PID
start victim env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BEHIND" RGPU_TRANSPORT=tcp RGPU_TCP_CONNECTIONS=1 "$ENDURE"
victim=$PID
await_line cutter '^cuts 5$' || bail "no cuts"
goes_on victim || bail "the session does not go on"
before=$(files "$victim")
await_line cutter "^cuts $CUTS\$" || bail "no more cuts"
ok "a session that endures goes on" goes_on victim
ok "and has as many descriptors as before" await "descriptors" settled "$victim" "$before"
stop "$victim"
stop "$cutter"

start_ticket_box
all_seeds "with a ticket" by_ticket
RGPU_PROTECTION=privacy all_seeds "under privacy" by_ticket
ok "connections were cut" test "$cut_in_all" -ge 80
diag "$cut_in_all cuts"
no_sessions() { [ -z "$("$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" --json)" ]; }
ok "no session is left" await "sessions to end" no_sessions
done_testing
