#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A protocol that changes without its version is caught.
. "$(dirname "$0")/../lib.sh"

generate() { python3 -B "$TOP/proto/generate" "$@"; }
ok "control.spec and version.lock agree" generate "$TOP/proto/control.spec" --check

cp "$TOP/proto/control.spec" "$TMP/spec"
cp "$TOP/proto/version.lock" "$TMP/lock"
sed -i 's/# what is wrong and what to do/# another comment/' "$TMP/spec"
ok "a comment is not a change" generate "$TMP/spec" --check "$TMP/lock"
sed -i 's/position u32/position u64/' "$TMP/spec"
fails "a changed field is" generate "$TMP/spec" --check "$TMP/lock"
like "$(cat "$TMP/ok.out")" 'raise the version in the spec' "and the error says what to do"
fails "the lock does not take another text for a version it has" generate "$TMP/spec" --lock "$TMP/lock"
version=$(awk '/^protocol control/ { print $3 }' "$TMP/spec")
sed -i "s/^protocol control $version/protocol control $((version + 1))/" "$TMP/spec"
fails "a new version must be entered" generate "$TMP/spec" --check "$TMP/lock"
ok "entering it" generate "$TMP/spec" --lock "$TMP/lock"
ok "then it agrees" generate "$TMP/spec" --check "$TMP/lock"
ok "and the old one is kept" grep -q "^control $version " "$TMP/lock"

reject() {
    printf 'protocol control 1 1\n%b\n' "$1" >"$TMP/bad"
    fails "$2" generate "$TMP/bad" control_messages.c
    like "$(cat "$TMP/ok.out")" "$TMP/bad:[0-9]+: " "with file and line"
}
reject 'message 1 A\n    x u128' "an unknown type is refused"
reject 'message 1 A\n    x u8\nmessage 1 B\n    y u8' "a number used twice is refused"
reject 'message 1 A\n    x array(nothing, 3)' "an unknown struct is refused"
reject '    x u8' "a field outside of a message is refused"
ok "generating twice gives the same" bash -c "cd '$TOP' && cmp \
    <(python3 -B proto/generate proto/control.spec control_messages.c) \
    <(python3 -B proto/generate proto/control.spec control_messages.c)"
fails "a template that is not there is refused" generate "$TOP/proto/cuda.spec" nothing.c
like "$(cat "$TMP/ok.out")" 'there are: .*cuda_ops.h' "with the names of those that are"
ok "cuda.spec and version.lock agree" generate "$TOP/proto/cuda.spec" --check
cp "$TOP/proto/cuda.spec" "$TMP/cuda.spec"
cp "$TOP/proto/version.lock" "$TMP/lock"
sed -i 's/size_t \*pvalue/unsigned int *pvalue/' "$TMP/cuda.spec"
fails "a changed call is noticed" generate "$TMP/cuda.spec" --check "$TMP/lock"
like "$(cat "$TMP/ok.out")" 'raise the version in the spec' "and the error says what to do"
version=$(awk '/^protocol calls/ { print $3 }' "$TMP/cuda.spec")
sed -i "s/^protocol calls $version/protocol calls $((version + 1))/" "$TMP/cuda.spec"
ok "a raised version can be entered" generate "$TMP/cuda.spec" --lock "$TMP/lock"
ok "then it agrees" generate "$TMP/cuda.spec" --check "$TMP/lock"
done_testing
