#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every type, value and layout that proto/cuda_abi.h declares is the one of the toolkit's cuda.h,
# and none of cuda.h's is missing.
. "$(dirname "$0")/../lib.sh"

include=${CUDA_HOME:-/usr/local/cuda}/include
[ -e "$include/cuda.h" ] || skip_all "no CUDA toolkit: $include/cuda.h is not there"
requires python3
CC=${CC:-gcc}
probe=$(dirname "$0")/abi_probe.py

cat >"$TMP/theirs.h" <<EOF
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
EOF
echo '#include "proto/cuda_abi.h"' >"$TMP/ours.h"
ours=(-I"$TOP" -I"$TMP")
theirs=(-I"$include" -I"$TMP")

version() { sed -nE 's/^#define CUDA_VERSION ([0-9]+).*/\1/p' "$1"; }
theirs_version=$(version "$include/cuda.h")
[ "$theirs_version" = "$(version "$TOP/proto/abi/base.h")" ] ||
    skip_all "the toolkit is of another version: $theirs_version"

"$CC" "${ours[@]}" -E -P "$TMP/ours.h" >"$TMP/ours.i"
"$CC" "${ours[@]}" -E -dM "$TMP/ours.h" >"$TMP/ours.macros"
"$CC" "${theirs[@]}" -E -P "$TMP/theirs.h" >"$TMP/theirs.i"

python3 "$probe" probe "$TMP/ours.i" "$TMP/ours.macros" >"$TMP/probe.c"
ok "the probe compiles with our header" \
    "$CC" -std=gnu11 "${ours[@]}" -DPROBED='"ours.h"' "$TMP/probe.c" -o "$TMP/ours"
ok "the probe compiles with cuda.h" \
    "$CC" -std=gnu11 "${theirs[@]}" -DPROBED='"theirs.h"' "$TMP/probe.c" -o "$TMP/theirs"
"$TMP/ours" >"$TMP/ours.txt"
"$TMP/theirs" >"$TMP/theirs.txt"
lines=$(wc -l <"$TMP/ours.txt")
ok "the probe says a lot ($lines lines)" [ "$lines" -gt 1500 ]
ok "sizes, offsets and values are the same" diff "$TMP/theirs.txt" "$TMP/ours.txt"

python3 "$probe" names "$TMP/ours.i" >"$TMP/ours.names"
python3 "$probe" names "$TMP/theirs.i" >"$TMP/theirs.names"
is "$(LC_ALL=C comm -13 "$TMP/ours.names" "$TMP/theirs.names")" "" "nothing of cuda.h is missing"

for std in c99 gnu11; do
    ok "a $std program may include our header instead" \
        "$CC" -std=$std -Wall -Wextra -Werror "${ours[@]}" -fsyntax-only -x c "$TMP/ours.h"
done
done_testing
