# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of this folder share: processes with ranks.

# begin NAME COMMAND...: with the variables of `environment`, on BOXES.
begin() {
    local name=$1
    shift
    start "$name" env "LD_PRELOAD=$(preload_for_sanitizers)" "LD_LIBRARY_PATH=$BUILD/lib/nccl:$BUILD/lib" "RGPU_BOXES=${BOXES:-}" "${environment[@]}" "$@"
}

LOST=$BUILD/tests/nccl/ranks_lost
# bereave NAME COMMAND...: that happens while rank 0 waits for rank 1.
bereave() {
    local name=$1
    shift
    rm -f "$TMP/$name.id" # of others by that name
    begin "$name-0" "$LOST" 2 0 1 "$TMP/$name.id"
    begin "$name-1" "$LOST" 2 1 1 "$TMP/$name.id" stay
    await_line "$name-1" '^# stays' || bail "they do not meet"
    await_line "$name-0" '^# waits' || bail "rank 0 does not come to its wait"
    "$@"
    ok "$name: the communicator is lost" await_line "$name-0" '^ok 1 '
}
kill_process() { kill -KILL "${line_pid[$1]}"; }
