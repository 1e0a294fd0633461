#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tokens of shared memory are good for processes of the lease that they belong to and for nobody else, as long as the
# memory is there; and it counts once, on the account of who holds it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/holders.sh"
start_ticket_box

holder anna one
holder ben one
holder carl two
token=$(tell anna share $((64 * MIB)) | sed -n 's/^token //p')
ok "an allocation has a token of 64 bytes" [ ${#token} = 128 ]
is "$(tell anna share 0)" "failed 1" "nothing has none"
before=$(left ben)
is "$(tell ben open "$token")" "opened 4711" "a process of the same lease opens it"
is "$(left ben)" "$before" "and it counts no second time"
is "$(tell carl open "$token")" "failed 400" "one of another lease does not"
is "$(tell ben open "$(forged "$token")")" "failed 400" "nor does anybody a token that was never given"
is "$(tell ben open "$(printf '%0128d' 0)")" "failed 1" "or what is no token at all"
is "$(tell anna open "$token")" "failed 201" "nor who has made it"

# The exporter is killed while the memory is in use elsewhere.
kill -KILL "${pid[anna]}"
account_is() { [ "$(left ben)" = "$1" ]; }
ok "who holds it pays for it from then on" await "the charge moves" grep -q 'has shared memory on its account now gpu=0 bytes=67108864' "$BOX_LOG"
is "$(left ben)" "$before" "so it is on the account still"
is "$(tell ben take $((200 * MIB)))" "taken 2" "and there is no room for more than the lease may have"
is "$(tell ben close)" "closed 0" "it is closed"
ok "and off the account" await "and off the account" account_is $((before + 64))
is "$(tell ben open "$token")" "failed 400" "and its token is good for nothing"

# An importer is killed.
holder dora one
holder emma one
token=$(tell ben share $((32 * MIB)) | sed -n 's/^token //p')
is "$(tell dora open "$token")" "opened 4711" "memory of another process"
is "$(tell emma open "$token")" "opened 4711" "a token is good for each process of the lease"
is "$(tell emma close) $(tell emma open "$token")" "closed 0 opened 4711" "and as often as one likes"
is "$(tell emma close)" "closed 0" "while the memory is there"
held=$(left ben)
kill -KILL "${pid[dora]}"
gone() { ! "$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" | grep -q "token-holder ${pid[dora]}@"; }
ok "who uses it is killed" await "who uses it is killed" gone
is "$(tell ben free)" "freed 0" "who has made it frees it"
ok "and it is off the account" await "and it is off the account" account_is $((held + 32 + 64))

# The same of physical memory and of pools.
holder finn seven
holder greta seven
size=$((16 * MIB))
physical=$(tell finn physical $size | sed -n 's/^token //p')
read -r pool inside <<<"$(tell finn pool $size | sed -n 's/^tokens //p')"
is "$(tell greta import "$physical" $size)" "opened 4712" "physical memory is opened by another process of the lease"
is "$(tell carl import "$physical" $size)" "failed 999" "by none of another lease"
is "$(tell greta import "$(forged "$physical")" $size)" "failed 999" "nor by a token that was never given"
is "$(tell greta import "$pool" $size)" "failed 999" "nor by one that stands for something else"
is "$(tell carl adopt "$pool" "$inside")" "no pool 999" "a pool is not opened by another lease"
is "$(tell greta adopt "$(forged "$pool")" "$inside")" "no pool 999" "nor by a token that was never given"
is "$(tell greta adopt "$pool" "$(forged "$inside")")" "failed 1" "nor is an allocation of it"
is "$(tell greta adopt "$pool" "$physical")" "failed 1" "or anything else"
held=$(left greta)
is "$(tell greta adopt "$pool" "$inside")" "opened 4713" "both are by another process of the lease"
is "$(left greta)" "$held" "and count once"
kill -KILL "${pid[finn]}"
ok "who has made it is killed, and who uses it pays" await "the charge" grep -q "has shared memory on its account now gpu=0 bytes=$size" "$BOX_LOG"
ended() { ! "$BUILD/bin/rgpuctl" sessions --socket "$ADMIN" | grep -q "token-holder ${pid[finn]}@"; }
await "its end" ended
is "$(tell greta import "$physical" $size)" "failed 999" "then the tokens are good for nothing"
is "$(tell greta adopt "$pool" "$inside")" "failed 1" "any more"
before=$(left greta)
is "$(tell greta give)" "given 0" "what is open of the pool is freed"
freed() { [ "$(left greta)" -gt "$before" ]; }
ok "and off the account" await "and off the account" freed
kill -KILL "${pid[greta]}"

# A box whose users may share between their leases.
start_ticket_box --exports user
holder eve three 1001
holder fay four 1001
holder gus five 1002
token=$(tell eve share $((64 * MIB)) | sed -n 's/^token //p')
is "$(tell gus open "$token")" "failed 400" "where users may share, another user's process does not open it either"
held=$(left fay)
is "$(tell fay open "$token")" "opened 4711" "but one of the same user's other lease does"
is "$(left fay)" "$held" "and who has made it pays for it"
kill -KILL "${pid[eve]}"
moved() { [ "$(left fay)" = $((held - 64)) ]; }
ok "until it ends, then the other lease does" await "then the other lease does" moved
is "$(tell fay take $((240 * MIB)))" "taken 2" "whose budget holds for it"
is "$(tell fay close)" "closed 0" "until it closes it"
back() { [ "$(left fay)" = "$held" ]; }
ok "and has it back" await "and has it back" back

# What one has of others does not fit beside what one has oneself.
holder hugo five 1001
holder ida six 1001
token=$(tell hugo share $((64 * MIB)) | sed -n 's/^token //p')
is "$(tell ida take $((224 * MIB)))" "taken 0" "a process that has nearly all of its budget"
is "$(tell ida open "$token")" "opened 4711" "opens memory that another lease pays for"
kill -KILL "${pid[hugo]}"
full() { [ "$(left ida)" = 0 ]; }
ok "when it comes to pay for that, it has nothing left" await "nothing left" full
is "$(tell ida take $MIB)" "taken 2" "gets no more"
is "$(tell ida close) $(tell ida take $MIB)" "closed 0 taken 0" "and has room again when it has closed it"
done_testing
