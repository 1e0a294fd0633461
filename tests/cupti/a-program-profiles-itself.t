#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that ask CUPTI's activity interface get what remote GPUs did: each kernel, copy and set once, linked to its
# call and to the program's own numbers, at the right time by any clock; what is lost is counted. A program that
# brings CUPTI's library by a path of its own gets the stand-in under rgpuctl run.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/faults.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which programs do not do"
requires "${CC:-cc}" readelf
profiled=$BUILD/tests/cupti-profiled
start_box --devices sim:1
# profiles NAME PROGRAM...: it passes all of its own checks.
profiles() {
    local name=$1 status=0
    shift
    "$@" >"$TMP/tap" 2>&1 || status=$?
    [ "$status" = 0 ] || grep -v '^ok' "$TMP/tap" | sed 's/^/# /'
    ok "$name" [ "$status" = 0 ]
}
for transport in shm tcp; do
    profiles "over $transport" on_box RGPU_TRANSPORT=$transport "$profiled" libcupti.so.13
done

# A node with many processors has threads of its own for large copies, whose pieces are the same call's.
cat >"$TMP/processors.c" <<'C'
#define _GNU_SOURCE
#include <sched.h>
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    CPU_ZERO_S(size, set);
    for (int i = 0; i < 8; i++)
        CPU_SET_S(i, size, set);
    return 0;
}
C
"${CC:-cc}" -shared -fPIC -o "$TMP/processors.so" "$TMP/processors.c"
profiles "over shm by several threads" on_box RGPU_TRANSPORT=shm LD_PRELOAD="$TMP/processors.so" "$profiled" libcupti.so.13

profiles "by the name of the release before" on_box "$profiled" libcupti.so.12
profiles "while a timeline is written" on_box RGPU_TRACE="$TMP/both.json" "$profiled" libcupti.so.13
ok "which can be read" python3 -m json.tool "$TMP/both.json" "$TMP/read"
like "$(cat "$TMP/read")" '"name": "add"' "and has kernels as well"
unlike "$(cat "$BOX_LOG")" 'crash|makes no sense' "the box is well"

# A client that dies in the middle.
on_box "$profiled" libcupti.so.13 >"$TMP/dying" 2>&1 &
dying=$!
until grep -q 'enabling all kinds' "$TMP/dying" || ! kill -0 $dying 2>/dev/null; do :; done
kill -KILL $dying 2>/dev/null || true
wait $dying 2>/dev/null || true
profiles "after a client that was killed while it profiled" on_box "$profiled" libcupti.so.13

small=$BOX
start_box --devices sim:1 --activity-memory 64K
profiles "where the box can keep few records the others are counted" on_box "$profiled" libcupti.so.13 many

# Who finds the library by DT_RPATH, as PyTorch's wheels do.
mkdir -p "$TMP/own"
echo 'int cuptiGetVersion(unsigned *v) { *v = 42; return 0; }' >"$TMP/own.c"
echo 'libcupti.so.13 { global: cupti*; local: *; };' >"$TMP/own.map"
"${CC:-cc}" -shared -fPIC -o "$TMP/own/libcupti.so.13" "$TMP/own.c" -Wl,-soname,libcupti.so.13 -Wl,--version-script="$TMP/own.map"
cat >"$TMP/asks.c" <<'C'
#include <stdio.h>
int cuptiGetVersion(unsigned *);
int main(void) { unsigned v = 0; cuptiGetVersion(&v); printf("%u\n", v); return 0; }
C
"${CC:-cc}" -o "$TMP/asks" "$TMP/asks.c" "$TMP/own/libcupti.so.13" -Wl,--disable-new-dtags,-rpath,"$TMP/own"
like "$(readelf -d "$TMP/asks")" 'RPATH' "a program with a path of its own"
is "$(on_box "$TMP/asks")" 42 "finds its own library"
ctl=$BUILD/bin/rgpuctl
is "$("$ctl" run --box "$small" -- "$TMP/asks" 2>&1)" 130000 "and the stand-in under rgpuctl run"
is "$(RGPU_PROFILER=no "$ctl" run --box "$small" -- "$TMP/asks" 2>&1)" 42 "unless it is not wanted"
like "$(LD_PRELOAD=/nowhere "$ctl" run --box "$small" -- sh -c 'echo $LD_PRELOAD' 2>/dev/null)" \
    'libcupti.so.13:.*libcupti.so.12:/nowhere$' "what was preloaded before still is"
profiles "the stand-in works there" "$ctl" run --box "$small" -- "$profiled" libcupti.so.13

# A library that is named is the one that is tried, and no other.
start_box --devices sim:1 --cupti /nowhere/libcupti.so.13
RGPU_TRACE="$TMP/without.json" on_box "$BUILD/tests/programs/saxpy" >"$TMP/out" 2>"$TMP/err" || fail "a program whose box lacks the library runs"
like "$(cat "$TMP/err")" 'has no CUPTI' "and says what its timeline lacks"
logs "$BOX_LOG" 'cupti not loaded name=/nowhere/libcupti.so.13 error=".*No such file' "the box says which library it tried, and why not"
is "$(grep -c 'cupti not loaded' "$BOX_LOG")" 1 "which is the one that was named"
CUDA_INJECTION64_PATH=/nowhere/injected.so on_box "$BUILD/tests/programs/saxpy" >"$TMP/out" 2>"$TMP/err" || fail "a program with an injected profiler runs"
is "$(grep -c 'rgpu: profilers that are injected .* use RGPU_TRACE=file' "$TMP/err")" 1 "who is injected is told what to use instead, once"
done_testing
