#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A lease goes to another GPU of its box while its program holds data: memory, accounts and new processes are there
# afterwards, the program sees the GPU that its ticket names, and what cannot go is said and stays as it was.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/suspending.sh"
requires python3
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which python does not do"

export RGPU_SIM_MEMORY=512M,512M,512M,256M
printf 'k1 %064d\n' 7 >"$TMP/box.key"
chmod 600 "$TMP/box.key"
start_box --devices sim:4 --admin-socket "$TMP/admin" --auth ticket --key-file "$TMP/box.key" --name box1 \
    --memory-check 200ms --suspend-memory 300M --suspend-timeout 2s
mapfile -t gpus < <(ctl devices --json | sed -n 's/.*"uuid":"\([^"]*\)".*/\1/p')
ticket() { "$BUILD/tests/issue-ticket" "$TMP/box.key" "$BOX" box1 3600 "$@"; }
column() { ctl devices --json | sed -n "s/.*\"ordinal\":$1,.*\"$2\":\([0-9]*\).*/\1/p"; }
account() { echo "$(column 0 account_bytes) $(column 1 account_bytes)"; }
# What programs with the ticket see of the GPU, and what those that look at it by the management library.
seen() {
    env LD_LIBRARY_PATH="$BUILD/lib" RGPU_TICKET="$1" "$BUILD/tests/visible-list"
    env RGPU_TICKET="$1" python3 - "$BUILD/lib/libnvidia-ml.so.1" <<'PYTHON'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
gpu, uuid = ctypes.c_void_p(), ctypes.create_string_buffer(96)
print(library.nvmlInit_v2(), library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)),
      library.nvmlDeviceGetUUID(gpu, uuid, 96), uuid.value.decode())
PYTHON
}
gpu_of() { ctl sessions --json | sed -n "s/.*\"session\":$1,.*\"devices\":\[\"\([^]]*\)\"\].*/\1/p"; }
# The program that began last ends, and its GPU is nobody's.
leave() {
    local worker
    worker=$(worker_of "$(last_session)")
    stop "${line_pid[$1]}"
    await "the end of its worker" gone "$worker"
}
says() { like "$(cat "$TMP/ok.out")" "$1" "which is said"; }

one=$(ticket lease=one shared=400000000 "${gpus[0]}")
hold one 40 "RGPU_TICKET=$one"
id=$(last_session)
before=$(seen "$one")
like "$before" "0 0 0 ${gpus[0]}" "programs see the GPU of their ticket"
# sessions_are DEVICE COUNT: those that looked end a moment after their programs.
sessions_are() { [ "$(column "$1" sessions)" = "$2" ]; }
await "the end of the sessions that looked" sessions_are 0 1
held=$(column 0 account_bytes)
ok "a program goes on another GPU" ctl move one --to box1:1
is "$(gpu_of "$id")" "${gpus[1]}" "which is shown"
is "$(account)" "0 $held" "its account is there, with all that was counted"
look one
ok "and the program has its data" await_line one '^right 1$'
ok "its memory is off the first GPU" await "the figures" eval '[ "$(column 0 driver_bytes)" -lt $((100 << 20)) ]'
ok "and on the other" await "the figures" eval '[ "$(column 1 driver_bytes)" -gt $((160 << 20)) ]'
hold two 8 "RGPU_TICKET=$one"
is "$(gpu_of "$(last_session)")" "${gpus[1]}" "a new process of the lease comes to it, by the ticket of before"
after=$(seen "$one")
is "$after" "$before" "and sees the GPU of its ticket, as before"
await "the end of the sessions that looked" sessions_are 1 2
ok "both go back" ctl move one --to "${gpus[0]}" --from box1:1
look one
look two
ok "with their data" await_line one '^right 2$'
ok "each" await_line two '^right 1$'
is "$(column 1 account_bytes) $(column 1 sessions)" "0 0" "nothing of them is left behind"
leave two

# What cannot be
fails "where it is already it does not go" ctl move one --to box1:0
says 'it is on that GPU already'
fails "nor to a GPU that is too small" ctl move one --to box1:3
says 'too small: it has 256 MiB, and the present one 512'
fails "nor to another box" ctl move one --to box2:1
says 'not of this box .box1., and leases are not moved from box to box'
fails "nor to a GPU that is not there" ctl move one --to box1:9
says 'has no GPU box1:9'
hold alone 8 "RGPU_TICKET=$(ticket lease=alone "${gpus[1]}")"
fails "nor beside a lease that has its GPU for itself" ctl move one --to box1:1
says 'in use by another lease .alone., beside which'
look one
ok "the program runs on as if nothing had been" await_line one '^right 3$'
is "$(gpu_of "$id")" "${gpus[0]}" "where it was"
leave alone
hold busy "1 600000000000" "RGPU_TICKET=$(ticket lease=busy "${gpus[1]}")"
fails "work that does not end stays on its GPU" ctl move busy --to box1:2
says 'does not come to an end'
leave busy
hold large 130 "RGPU_TICKET=$(ticket lease=large "${gpus[1]}")"
fails "and what the box's memory has no room for" ctl move large --to box1:2
says 'does not fit: suspend_memory'
leave large
hold both 8 "RGPU_TICKET=$(ticket lease=both shared=134217728 "${gpus[1]}" "${gpus[2]}")"
fails "of several GPUs one has to be named" ctl move both --to box1:0
says 'it has 2 GPUs of this box: say which one by --from'
fails "and not one that it has for another" ctl move both --from box1:1 --to box1:2
says 'it has that GPU already'
leave both
fails "nobody's lease is nobody's" ctl move none --to box1:1
says 'no lease none has sessions here'
fails "a lease has to be named" ctl move --to box1:1
fails "and a GPU" ctl move one

# Suspended, taken, killed
ctl suspend one
ok "what is suspended is to go elsewhere" ctl move one --to box1:2
look one
fails "and stays suspended" read_line one 0.2
ctl resume one
ok "until it is resumed" await_line one '^right 4$'
is "$(gpu_of "$id")" "${gpus[2]}" "there"
worker=$(worker_of "$id")
kill -STOP "$worker"
ok "who is killed on the way" ctl move one --to box1:0 --no-wait
stop "${line_pid[one]}" KILL
kill -CONT "$worker"
ok "is over" await "its worker's end" gone "$worker"
hold again 8 "RGPU_TICKET=$(ticket lease=again "${gpus[0]}")"
look again
ok "the GPUs are there for others" await_line again '^right 1$'
ok "a session's number names its lease" ctl move "$(last_session)" --to box1:1
look again
ok "and all is well" await_line again '^right 2$'
unlike "$(cat "$BOX_LOG")" 'lost error=|signal' "no session was lost, and nothing has crashed"
done_testing
