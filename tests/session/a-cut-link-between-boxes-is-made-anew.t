#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What links two boxes is cut while both are there: the next copy makes another link, and a copy that was still to come
# fails, as does the context of its stream, and nothing else.
. "$(dirname "$0")/../lib.sh"
PEERS=$BUILD/tests/programs/peers
requires python3

# cut WAY MODE WORD: the program in that mode, NAME; its link is cut when it says WORD.
links=0
cut() {
    local way=$1 mode=$2 word=$3 forwarder port
    name=link-$((++links))
    start "forwarder-$name" "$TOP/tests/session/forwarder.py" "$TMP/$name.target"
    forwarder=$PID
    await_line "forwarder-$name" '^port' || bail "no forwarder"
    port=${LINE#port }
    start_box --devices sim:1
    first=$BOX first_log=$BOX_LOG
    start_box --devices sim:1 --announce "127.0.0.1:$port"
    echo "$BOX" >"$TMP/$name.target"
    mkfifo "$TMP/$name.fifo"
    exec {answer}<>"$TMP/$name.fifo"
    start "$name" env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$first,$BOX" RGPU_LOG=info RGPU_TRANSPORT=tcp \
        "RGPU_PEER_LINK=$way" sh -c "exec '$PEERS' $mode <'$TMP/$name.fifo'"
    await_line "$name" "^# $word" || bail "the program does not come to its cut"
    logs "$TMP/$name.log" "copies between boxes .*by=$way" "$way: the boxes are linked"
    before=$(threads "$first_log")
    stop "$forwarder"
    await "the first box notices" grep -q 'link with box=.* is down' "$first_log" || bail "no loss"
    await "the second box notices" grep -q 'link with box=.* is down' "$BOX_LOG" || bail "no loss"
    echo cut >&$answer
}
# threads LOG: of the worker that serves the session of that box.
threads() {
    local pid
    pid=$(sed -n 's/.*session=.* begins pid=\([0-9]*\).*/\1/p' "$1" | tail -n 1)
    find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l
}
has_threads() { [ "$(threads "$1")" = "$2" ]; }
for way in shm tcp; do
    cut $way cut linked
    ok "$way: the next copy is right" await_line "$name" '^ok 2 '
    await_line "$name" '^# linked again' || bail "the program does not go on"
    ok "$way: the link that was cut has left no thread behind" await "the first box's threads" has_threads "$first_log" "$before"
    is "$(grep -c 'copies between boxes .*by=' "$TMP/$name.log")" 2 "$way: over another link"
    echo over >&$answer
    cut $way cut-held held
    ok "$way: a copy that was still to come fails" await_line "$name" '^ok 1 '
    logs "$TMP/$name.log" 'a copy between boxes has failed.* box=.* other=' "$way: the log names the boxes"
    ok "$way: the other device is as it was" await_line "$name" '^ok 3 '
done
done_testing
