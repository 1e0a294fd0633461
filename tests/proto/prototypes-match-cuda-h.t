#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every call in proto/cuda.spec has the prototype that the toolkit's cuda.h gives it, and every
# function that cuda.h declares is in the list.
. "$(dirname "$0")/../lib.sh"

include=${CUDA_HOME:-/usr/local/cuda}/include
[ -e "$include/cuda.h" ] || skip_all "no CUDA toolkit: $include/cuda.h is not there"
grep -q 'define CUDA_VERSION 13000' "$include/cuda.h" || skip_all "the toolkit is not CUDA 13.0"
requires python3
generate() { python3 -B "$TOP/proto/generate" "$TOP/proto/cuda.spec" "$1"; }

generate abi_check.c >"$TMP/check.c"
ok "prototypes are those of cuda.h" "${CC:-gcc}" -std=gnu11 -fsyntax-only -I"$include" "$TMP/check.c"

sed -i '0,/CUevent hEvent/s//int hEvent/' "$TMP/check.c"
fails "a wrong prototype is noticed" "${CC:-gcc}" -std=gnu11 -fsyntax-only -I"$include" "$TMP/check.c"

printf '#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n' |
    "${CC:-gcc}" -E -P -I"$include" -x c - | tr '\n' ' ' | grep -oE 'CUresult +cu[A-Z]\w+ *\(' |
    grep -oE 'cu[A-Z]\w+' | sort -u >"$TMP/declared"
generate symbols.txt | sort -u >"$TMP/listed"
ok "cuda.h declares hundreds of functions" [ "$(wc -l <"$TMP/declared")" -gt 500 ]
is "$(comm -23 "$TMP/declared" "$TMP/listed")" "" "no function of cuda.h is missing"
ok "the client library exports each of them" bash -c \
    "nm -D --defined-only '$BUILD/lib/libcuda.so.1' | awk '{print \$3}' | sort -u | comm -23 '$TMP/listed' - >'$TMP/missing'; ! [ -s '$TMP/missing' ]"
done_testing
