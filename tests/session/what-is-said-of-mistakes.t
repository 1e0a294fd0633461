#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What programs of the project say of settings, files and surroundings that are wrong, and that none of it makes them hang.
. "$(dirname "$0")/../lib.sh"
rgpud=$BUILD/bin/rgpud rgpuctl=$BUILD/bin/rgpuctl
within() { timeout --kill-after=5 60 "$@"; }

# ---- output that cannot be written ----
for command in --help --complete "run --help"; do
    status=0
    # shellcheck disable=SC2086
    "$rgpuctl" $command >/dev/full 2>"$TMP/errors" || status=$?
    is $status 1 "rgpuctl $command >/dev/full fails"
    like "$(cat "$TMP/errors")" "rgpuctl: cannot write standard output: No space left" "and says why"
done
status=0
"$rgpuctl" --help >&- 2>"$TMP/errors" || status=$?
is $status 1 "so it does without a standard output"

# ---- settings that are no file ----
mkfifo "$TMP/pipe"
for file in "$TMP" /dev/zero "$TMP/pipe"; do
    status=0
    within "$rgpud" --config "$file" --check-config >"$TMP/out" 2>&1 || status=$?
    is $status 1 "rgpud --config $([ "$file" = "$TMP" ] && echo DIRECTORY || basename "$file") fails"
    like "$(cat "$TMP/out")" "cannot read configuration file=$file error=" "and names it"
done
ok "settings from a pipe are read" within bash -c '"$0" --config <(printf "[auth]\nauth = none\n") --check-config' "$rgpud"

# ---- a list of boxes that is none ----
says() {
    local what=$1 list=$2 want=$3
    BOXES=$list on_box "$BUILD/tests/programs/saxpy" >"$TMP/out" 2>"$TMP/errors" || true
    like "$(cat "$TMP/errors")" "RGPU_BOXES is not a list of boxes: $want" "RGPU_BOXES with $what"
}
says "65 boxes" "$(seq -f 'box%g:1' -s , 65)" "it names more than 64"
says "a long host" "$(printf 'x%.0s' {1..300}):7300" '"x{100}\.\.\." is not host:port: a host has at most 255 bytes'
says "a line end" "$(printf 'a\nb:7300')" '"a\?b:7300" is not host:port: blanks and control characters'
says "a port too high" "good:1,gpu01:99999" '"gpu01:99999" is not host:port: a port is a number up to 65535'

# ---- without /proc ----
start_box
if unshare -m true 2>/dev/null; then
    unshare -m bash -c 'mount -t tmpfs none /proc && exec "$@"' bash env LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" \
        RGPU_LOG=info "$BUILD/tests/programs/saxpy" >"$TMP/out" 2>"$TMP/errors" || true
    like "$(cat "$TMP/errors")" "transport=tcp reason=\"no shared memory: this process cannot read /proc/sys" \
        "a program without /proc takes tcp, and says that the reason is its own"
else
    skip "no mounts of our own"
fi

# ---- numbers in another language ----
mkdir "$TMP/locales"
if localedef -i de_DE -f UTF-8 "$TMP/locales/de_DE.UTF-8" 2>/dev/null; then
    on_box RGPU_STATS=1 "LOCPATH=$TMP/locales" LC_ALL=de_DE.UTF-8 python3 -c '
import ctypes, locale
locale.setlocale(locale.LC_ALL, "")
print(locale.localeconv()["decimal_point"])
cuda = ctypes.CDLL("libcuda.so.1")
print(cuda.cuInit(0))' >"$TMP/out" 2>"$TMP/errors"
    is "$(head -n 1 "$TMP/out")" , "a program that writes decimal commas"
    like "$(cat "$TMP/errors")" "which ran for [0-9]+\.[0-9]{3} s" "gets a summary with decimal points"
else
    skip "no German locale can be made here"
fi

# ---- a timeline into a pipe that nobody reads ----
mkfifo "$TMP/unread"
within env RGPU_TRACE="$TMP/unread" LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="$BOX" "$BUILD/tests/programs/saxpy" \
    >"$TMP/out" 2>"$TMP/errors" && status=0 || status=$?
is $status 0 "a program whose RGPU_TRACE is a pipe without a reader goes on"
like "$(cat "$TMP/errors")" "RGPU_TRACE: cannot write $TMP/unread" "and says that there is no timeline"
done_testing
