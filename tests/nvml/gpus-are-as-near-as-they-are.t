#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What nvidia-smi topo -m asks of several GPUs: of those in one box the answers are what the box's own library says, whichever
# of them a lease has; those of different boxes have nothing in common, although their places have the same names.
. "$(dirname "$0")/../broker/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which python is not told"

topology() { python3 "$TOP/tests/nvml/topology.py" "$1"; }
lease() { api POST /v1/leases "{\"request\": $1, \"ticket\": true}" | at ticket; }
seen_by() { RGPU_TICKET=$1 topology "$BUILD/lib/libnvidia-ml.so.1"; }
# as_natively FILE: what a lease's GPUs of one box are to each other is what the library says of them.
as_natively() { python3 - "$TMP/native" "$1" <<'EOF'
import json, sys
native, seen = (json.load(open(name)) for name in sys.argv[1:])
places = [native['uuids'].index(uuid) for uuid in seen['uuids']]
for what in ('links', 'levels', 'peers'):
    wanted = [[native[what][a][b] for b in places] for a in places]
    assert seen[what] == wanted, (what, seen[what], wanted)
for i, bridge in enumerate(seen['bridge']):
    assert bridge == [j for j, level in enumerate(seen['levels'][i]) if level == 10 and j != i], bridge
assert places == sorted(places) and len(places) > 1, places
EOF
}
# apart FILE COUNT: so many GPUs of one box come first, and are as far from the others as can be said.
apart() { python3 - "$1" "$2" <<'EOF'
import json, sys
seen, count = json.load(open(sys.argv[1])), int(sys.argv[2])
every = range(len(seen['uuids']))
for a in every:
    for b in every:
        if (a < count) != (b < count):
            assert (seen['links'][a][b], seen['levels'][a][b], seen['peers'][a][b]) == (0, 50, 5), (a, b, seen)
    assert all(b in seen['system'][a] for b in every if (a < count) != (b < count)), seen['system']
assert len(every) > count
EOF
}

start_broker
start_cuda_box box1 --devices sim:4
start_cuda_box box2 --devices sim:4
RGPU_SIM_DEVICES=4 RGPU_SIM_HOST=box1 topology "$BUILD/lib/libnvidia-ml-sim.so" >"$TMP/native"
one=$(lease '{"gpus": [{"count": 4}], "box": "box1"}')
# A box is in the pool before its library has answered everything.
is_told() { seen_by "$one" >"$TMP/one" && [ "$(at levels.0.0 <"$TMP/one")" != None ]; }
await "the library's answers" is_told
ok "all GPUs of a box are to each other what its library says" as_natively "$TMP/one"
api GET /v1/leases >"$TMP/leases"
for id in $(python3 -c 'import json, sys; print(*[l["id"] for l in json.load(sys.stdin)["leases"]])' <"$TMP/leases"); do
    api DELETE "/v1/leases/$id" >/dev/null
done
has_one() { blocked=$(lease '{"gpus": [{}], "box": "box1"}' 2>/dev/null); }
await "a GPU that was given back" has_one
has_others() { some=$(lease '{"gpus": [{"count": 3}], "box": "box1"}' 2>/dev/null); }
await "the others" has_others
seen_by "$some" >"$TMP/some"
ok "and so are those of it that a lease has" as_natively "$TMP/some"
is "$(seen_by "$blocked" | at links.0.0)" 0 "a GPU alone is linked to nothing that can be seen"
: "${blocked:?}"
for id in $(api GET /v1/leases | python3 -c 'import json, sys; print(*[l["id"] for l in json.load(sys.stdin)["leases"]])'); do
    api DELETE "/v1/leases/$id" >/dev/null
done
# A GPU that is given back is free when its box has said so.
has_six() { both=$(lease '{"gpus": [{"count": 6}]}' 2>/dev/null); }
await "the GPUs that were given back" has_six
seen_by "$both" >"$TMP/both"
ok "those of two boxes have nothing in common" apart "$TMP/both" "$(python3 -c '
import json, sys
native, seen = (json.load(open(name))["uuids"] for name in sys.argv[1:])
here = [uuid in native for uuid in seen]
print(here.index(not here[0]))' "$TMP/native" "$TMP/both")"
done_testing
