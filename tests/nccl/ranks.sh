# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of this folder share: processes with ranks.

# begin NAME COMMAND...: with the variables of `environment`, on BOXES.
begin() {
    local name=$1
    shift
    start "$name" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib/nccl:$BUILD/lib" "RGPU_BOXES=${BOXES:-}" "${environment[@]}" "$@"
}
