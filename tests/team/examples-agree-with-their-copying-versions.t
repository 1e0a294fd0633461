#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The examples with puts and signals compute what their versions with kernels and copies do: natively, and on boxes.
. "$(dirname "$0")/../lib.sh"
EXAMPLES=$BUILD/examples
small=("stencil 15 50 9" "power 7 90" "sparse 9 150 8" "particles 9 4 8")
# agree WHERE COMMAND...
agree() {
    local where=$1 example
    shift
    for example in "${small[@]}"; do
        # shellcheck disable=SC2086
        ok "$where: $example" "$@" "$EXAMPLES/"$example
        like "$(cat "$TMP/ok.out")" "^${example%% *}: gpus=$GPUS steps=[0-9]+ .*speedup=" "$where: it says how long a step takes"
    done
}
GPUS=3
agree natively env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib/sim:$BUILD/lib" RGPU_SIM_DEVICES=3 "RGPU_SIM_STATE=$TMP/native"
start_box --devices sim:2
BOXES=$BOX
start_box --devices sim:1
BOXES+=,$BOX
for transport in shm tcp; do
    agree "$transport, two boxes" on_box "RGPU_TRANSPORT=$transport"
done
done_testing
