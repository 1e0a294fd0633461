#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl doctor finds what is wrong between a program and a GPU and says what to do; rgpuctl ping measures
# each transport.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
start_broker
start_cuda_box box1
ctl=$BUILD/bin/rgpuctl
export RGPU_BROKER=unix:$BROKER_SOCKET
unset RGPU_BOXES RGPU_TICKET RGPU_TICKET_FILE
doctor() { DOCTOR=0; FOUND=$("$@" 2>&1) || DOCTOR=$?; }

# ---- all is well ----
out=$("$ctl" ping box1 2>&1) || diag "$out"
like "$out" '^tcp +round trip [0-9]+ us, to the GPU [0-9.]+ GB/s, from it [0-9.]+ GB/s' "ping measures tcp"
like "$out" '^shm +round trip [0-9]+ us' "and shm"
like "$out" '^rdma +not here: .' "and says why a transport is not there"
is_idle() { [ "$(api GET /v1/boxes/box1 | at box.gpus_used)" = 0 ]; }
await "the end of the lease" is_idle
doctor "$ctl" doctor box1
is $DOCTOR 0 "a pool that is well"
unlike "$FOUND" problem "has no problem"
for topic in version library numa rdma memlock broker box address transport; do
    like "$FOUND" "^$topic +ok " "$topic is looked at"
done
is "$(grep -c '^gpu .*: a kernel computed right' <<<"$FOUND")" 2 "a kernel runs on each of its GPUs"
is "$("$ctl" leases | grep -c granted)" 0 "no lease is left behind"
await "the end of the lease" is_idle
json() { "$ctl" "$@" --json | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(*sorted({"%s=%s" % (row["topic"], row["state"]) for row in rows}))
print(*(row["round_trip_seconds"] < 60 and row["to_gpu_bytes_per_second"] > 0 for row in rows if row.get("transport") == "tcp"))'; }
is "$(json ping box1 | xargs)" "gpu=ok transport=absent transport=ok True" "ping as JSON"
await "the end of the lease" is_idle
like "$(json doctor box1)" 'broker=ok .*gpu=ok .*transport=absent transport=ok version=ok' "and doctor"
await "the end of the lease" is_idle
ok "a GPU that is drained" "$ctl" drain box1:1
doctor "$ctl" doctor box1
is "$DOCTOR $(grep -c '^gpu .*: a kernel computed right' <<<"$FOUND")" "0 1" "keeps the others from nothing"
"$ctl" undrain box1:1

# problem TOPIC REGEX COMMAND...: the doctor finds it, says what to do, and its status tells.
problem() {
    doctor "${@:3}"
    like "$FOUND" "^$1 +problem  .*$2" "found: $1 $2"
    like "$(grep -A1 "^$1 *problem" <<<"$FOUND")" '^ +to do  .' "with what to do"
    is $DOCTOR 1 "and the status"
}

# A GPU that computes wrong: copies from it have one bit turned.
cat >"$TMP/wrong.c" <<'END'
#include <dlfcn.h>
#include <string.h>
static int (*right)(void *, unsigned long long, unsigned long);
static int wrong(void *to, unsigned long long from, unsigned long size)
{
    int result = right(to, from, size);
    *(char *)to ^= 4;
    return result;
}
void *dlsym(void *handle, const char *name)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    void *symbol = real(handle, name);
    if (strcmp(name, "cuMemcpyDtoH_v2"))
        return symbol;
    right = (int (*)(void *, unsigned long long, unsigned long))symbol;
    return (void *)wrong;
}
END
"${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -o "$TMP/wrong.so" "$TMP/wrong.c"
await "the end of the lease" is_idle
doctor env LD_PRELOAD="$TMP/wrong.so" "$ctl" doctor box1
like "$FOUND" '^gpu +0 .*: 1 of 256 numbers of a kernel are wrong' "a GPU that computes wrong is found"
is $DOCTOR 1 "and is a problem"

# ---- real faults ----
unset RGPU_BROKER
problem munge '[Ss]ocket' env RGPU_MUNGE_SOCKET="$TMP/no-munged" "$ctl" doctor --broker "$BROKER"
printf 'admin %064d\n' 99 >"$TMP/wrong.key"
chmod 600 "$TMP/wrong.key"
problem broker '' "$ctl" doctor --broker "$BROKER" --key "$TMP/wrong.key"
doctor "$ctl" doctor --broker "$BROKER" --key "$TMP/admin.key"
is $DOCTOR 0 "with the right key all is well"
library=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1)
if [ -n "$library" ] && [ -z "${SAN:-}" ]; then
    problem broker '' env LD_PRELOAD="$library" FAKETIME=+2h FAKETIME_DONT_FAKE_MONOTONIC=1 \
        "$ctl" doctor --broker "$BROKER" --key "$TMP/admin.key"
    like "$FOUND" 'compare the clocks, here it is' "a skewed clock is thought of"
else
    skip "libfaketime is not there"
fi
problem address 'refused' "$ctl" doctor 127.0.0.1:1
problem broker '' "$ctl" doctor --broker "unix:$TMP/nobody"
export RGPU_BROKER=unix:$BROKER_SOCKET
problem box 'does not know it' "$ctl" doctor box2

# An RDMA device as the kernel shows one, whose port is down or may not be used, and too little memory.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    with_device() { # STATE COMMAND...
        unshare -m bash -c 'mount -t tmpfs none /sys/class && d=/sys/class/infiniband/mlx5_0 &&
            mkdir -p $d/ports/1/gids $d/device/infiniband_verbs/uverbs0 && echo 1 >$d/device/numa_node &&
            echo "$1" >$d/ports/1/state && echo fe80:0000:0000:0000:0000:0000:0000:0001 >$d/ports/1/gids/0 &&
            shift && exec "$@"' sh "$@"
    }
    problem rdma 'not active' with_device '1: DOWN' "$ctl" doctor
    problem rdma 'may not use it' with_device '4: ACTIVE' "$ctl" doctor
    like "$FOUND" '^rdma +ok +mlx5_0:1 is active, GIDs 1, NUMA node 1' "the port itself is well"
    problem memlock 'too little' with_device '4: ACTIVE' prlimit --memlock=65536:65536 "$ctl" doctor
else
    skip "mounts of one's own need root"
fi

# On a box whose key is another one's.
api GET /v1/boxes/other/key | at keys >"$TMP/box3.boxkey"
chmod 600 "$TMP/box3.boxkey"
mkdir "$TMP/box-box3"
good_pid=$BOX_PID
start_box --name box3 --auth ticket --key-file "$TMP/box3.boxkey" --broker "$BROKER" --state-dir "$TMP/box-box3" --admin-socket "$TMP/box3.sock"
await "the box's doubt" grep -q 'is not believed' "$BOX_LOG"
problem registration 'see that key_file holds the key of box box3' "$ctl" doctor --socket "$TMP/box3.sock"
stop "$BOX_PID"
stop "$good_pid" KILL
problem address 'refused' "$ctl" doctor box1
done_testing
