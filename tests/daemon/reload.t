#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGHUP takes over what can be taken over, names what cannot, and keeps the old on errors.
. "$(dirname "$0")/stub.sh"

write_config() {
    cat >"$TMP/rgpud.conf" <<EOF
[box]
name = stubbox
devices = ${3:-sim:2}
driver = stub
listen = 127.0.0.1:0
admin_socket = $TMP/box.sock
log_level = $1
[workers]
worker_program = $BUILD/tests/stub-worker
warm_workers = $2
[auth]
auth = none
EOF
}
write_config info 1
ADMIN=$TMP/box.sock BOX_NAME=box BOX_LOG=$TMP/box.log
start box "$BUILD/bin/rgpud" --config "$TMP/rgpud.conf"
BOX_PID=$PID
await_stub_box
like "$LINE" 'box=stubbox auth=none' "the file's settings are used"
write_config debug 3 sim:4
kill -HUP "$BOX_PID"
await_log 'settings reloaded'
await "more workers" sh -c "$BUILD/bin/rgpuctl devices --json --socket $ADMIN | head -1 | grep -q '\"warm\":3'"
pass "warm_workers is taken over"
write_config debug 1
kill -HUP "$BOX_PID"
await "fewer workers" sh -c "$BUILD/bin/rgpuctl devices --json --socket $ADMIN | head -1 | grep -q '\"warm\":1'"
pass "so is a smaller number"
await_log 'debug: worker'
pass "log_level is taken over"
logs "$BOX_LOG" 'needs a restart section=box name=devices' "devices needs a restart and the log says so"
write_config debug 1
sed -i 's/^log_level/gpu_faults = reset:stop\nlog_level/' "$TMP/rgpud.conf"
kill -HUP "$BOX_PID"
await_log 'reload failed, the old settings stay'
logs "$BOX_LOG" 'gpu_faults=reset:stop is not understood' "what to do about faults is checked before it is taken over"
echo "[box]
nmae = x" >"$TMP/rgpud.conf"
kill -HUP "$BOX_PID"
await_log 'did you mean name'
logs "$BOX_LOG" 'rgpud.conf:2: unknown option nmae in section .box.; did you mean name' \
    "a misspelt option is reported with file, line and the likely name"
ok "the box goes on with the old settings" "$CLIENT" "$BOX" echo hi
done_testing
