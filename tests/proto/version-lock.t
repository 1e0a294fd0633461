#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a release knows of a protocol stays as it knows it; what is added is no change.
. "$(dirname "$0")/../lib.sh"

generate() { python3 -B "$TOP/proto/generate" "$@"; }
# changed LIST SED: the list as LIST with a change, checked against what releases know.
changed() { sed "$2" "$TOP/proto/$1.spec" >"$TMP/$1.spec" && generate "$TMP/$1.spec" --check; }
refused() {
    fails "$3" changed "$1" "$2"
    like "$(cat "$TMP/ok.out")" "$4" "and the error says so"
}
for list in cuda control; do
    ok "what releases know is in $list.spec as they know it" generate "$TOP/proto/$list.spec" --check
done

ok "a comment is not a change" changed control 's/# what is wrong and what to do/# another comment/'
refused control 's/position u32/position u64/' "a changed field is" \
    'message QUEUED was changed, but releases since 0.1 know it as .*position/u32.*raise the version of the protocol'
refused control '/interval_ms u32/d' "a field that is gone is" 'message QUEUED was changed'
refused control '/interval_ms u32/a\    more u32' "a field more is, unless peers may leave it out" 'must be marked "later"'
ok "then it is not" changed control '/interval_ms u32/a\    more u32 later'
refused control 's/^message 1 HELLO open/message 1 HELLO/; / later /d' "a message that newer peers may no longer extend is" \
    'open HELLO is gone'
refused control 's/privacy 2 /privacy 3 /' "a value of an enumeration is" 'enum protection was changed'
ok "a raised version frees the list" changed control "s/^protocol control .*/protocol control 999 999/; s/position u32/position u64/"
refused control "s/^protocol control .*/protocol control 1 1/" "a version that is put back is refused" 'never put back'

ok "a new call is no change" changed cuda '$a999 sync,served brand_new 0 (unsigned int one)'
refused cuda 's/size_t \*pvalue/unsigned int *pvalue/' "a call with another result is" 'call cuCtxGetLimit was changed'
refused cuda '/ cuCtxGetLimit /d' "a call that is gone is" 'call cuCtxGetLimit is gone'
refused cuda 's/^41 /999 /' "a call with another number is" 'call cuCtxGetLimit was changed'
ok "how a side goes about it is not" changed cuda 's/^41 \( *\)sync /41 \1blocking,brief /'

mkdir -p "$TMP/proto"
cp -r "$TOP/proto/generate" "$TOP/proto/wire.h" "$TOP/proto/version.lock" "$TOP/proto/cuda.spec" "$TMP/proto"
wire() { sed "$1" "$TOP/proto/wire.h" >"$TMP/proto/wire.h" && python3 -B "$TMP/proto/generate" "$TMP/proto/cuda.spec" --check; }
ok "a comment in wire.h is not a change" wire 's|// as cuDriverGetVersion|// something else|'
fails "a record with another field is" wire 's/int32_t driver_version;/int64_t driver_version;/'
fails "a kind of event with another number is" wire 's/^    EVENT_DATA, /    EVENT_NEW, EVENT_DATA, /'
ok "a kind of event behind the others is not" wire 's|^    EVENT_ENDING, |    EVENT_ENDING, EVENT_NEW, |'
ok "a record more is not" wire '/^struct wire_data {/i struct wire_new {\n    uint32_t one;\n};'

cp "$TOP/proto/version.lock" "$TMP/lock"
sed '$a999 sync,served brand_new 0 (unsigned int one)' "$TOP/proto/cuda.spec" >"$TMP/cuda.spec"
fails "only a release is entered" generate "$TMP/cuda.spec" --lock "$TMP/lock"
ok "a release is entered" generate "$TMP/cuda.spec" --lock 98.7 "$TMP/lock"
like "$(cat "$TMP/lock")" '^calls call brand_new 999:[0-9a-f]{8} 98.7$' "with what it knows and others did not"
is "$(grep ' 0.1$' "$TMP/lock" | sort)" "$(grep ' 0.1$' "$TOP/proto/version.lock" | sort)" \
    "and what they knew keeps their name"
fails "then a call less is a change" generate "$TOP/proto/cuda.spec" --check "$TMP/lock"

reject() {
    printf 'protocol control 1 1\n%b\n' "$1" >"$TMP/bad"
    fails "$2" generate "$TMP/bad" control_messages.c
    like "$(cat "$TMP/ok.out")" "$TMP/bad:[0-9]+: " "with file and line"
}
reject 'message 1 A\n    x u128' "an unknown type is refused"
reject 'message 1 A\n    x u8\nmessage 1 B\n    y u8' "a number used twice is refused"
reject 'message 1 A\n    x array(nothing, 3)' "an unknown struct is refused"
reject '    x u8' "a field outside of a message is refused"
reject 'message 1 A\n    x u8 later' "a later field in a message that is not open is refused"
reject 'message 1 A open\n    x u8 later\n    y u8' "a field behind a later one is refused"
ok "generating twice gives the same" bash -c "cd '$TOP' && cmp \
    <(python3 -B proto/generate proto/control.spec control_messages.c) \
    <(python3 -B proto/generate proto/control.spec control_messages.c)"
fails "a template that is not there is refused" generate "$TOP/proto/cuda.spec" nothing.c
like "$(cat "$TMP/ok.out")" 'there are: .*cuda_ops.h' "with the names of those that are"
done_testing
