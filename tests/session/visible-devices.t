#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# CUDA_VISIBLE_DEVICES shows a program the devices of its lease that it names, in its order, as the driver does.
. "$(dirname "$0")/../lib.sh"
export RGPU_SIM_DEVICES=3 RGPU_SIM_HOST=
program=$BUILD/tests/visible-list
uuid=72677075-7369-4d30-8000-0000000000

seen() { sed -n 's/^device .* uuid \(..\) bus .*/\1/p' "$1" | tr '\n' ' '; }

start_box --devices sim:3
same() { # LIST UUIDS
    natively env "CUDA_VISIBLE_DEVICES=$1" "$program" >"$TMP/wanted" 2>&1
    on_box env "CUDA_VISIBLE_DEVICES=$1" "$program" >"$TMP/remote" 2>"$TMP/err"
    is "$(cat "$TMP/remote")" "$(cat "$TMP/wanted")" "\"$1\" shows what it shows natively"
    is "$(seen "$TMP/remote")" "$2" "\"$1\" shows the devices ${2:-none}"
}
same 0 "01 "
same 1 "02 "
same 2,0 "03 01 "
same "2, 1 ,0" "03 02 01 "
same 1,9,0 "02 "
same 0,-1,1 "01 "
same -1 ""
same "" ""
same none ""
same 1,1 ""
same "GPU-${uuid}03,GPU-${uuid}01" "03 01 "
same "gpu-${uuid}02" "02 "
same "GPU-${uuid}" ""
same "GPU-00" ""
same "GPU-${uuid}02,0" "02 "
same "1,GPU-${uuid}01" "02 "
is "$(env "CUDA_VISIBLE_DEVICES=-1" LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES=127.0.0.1:1 "$program" 2>&1)" "cuInit 100" \
    "a program that is to see none asks no box"

# Boxes whose GPUs have the same UUIDs: those that two have name none.
first=$BOX
start_box --devices sim:1
BOXES=$BOX,$first
several() { # LIST BUSES
    on_box env "CUDA_VISIBLE_DEVICES=$1" "$program" >"$TMP/remote" 2>"$TMP/err"
    is "$(seen "$TMP/remote")" "$2" "of two boxes \"$1\" shows the devices $2"
}
several 3,0,2 "03 01 02 "
several 0 "01 "
several "GPU-${uuid}02" "02 "
several "GPU-${uuid}01" ""
BOXES=$first
CUDA_VISIBLE_DEVICES=2,1 on_box "$BUILD/examples/vector" >"$TMP/out" 2>&1
is "$(grep -c ' 0 wrong$' "$TMP/out")" 2 "a program computes on those that it sees"
done_testing
