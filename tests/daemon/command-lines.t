#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl's command lines: options stand anywhere, are taken strictly, and end where a program begins.
. "$(dirname "$0")/../lib.sh"
ctl=$BUILD/bin/rgpuctl
unset RGPU_BROKER
mkdir "$TMP/s"
start_box --admin-socket "$TMP/s/box.sock"

for word in -h --help; do
    like "$("$ctl" $word)" '^usage: rgpuctl' "rgpuctl $word"
    like "$("$ctl" sessions $word)" '^usage: rgpuctl sessions' "rgpuctl sessions $word"
done
ok "a socket is named from where one is" sh -c 'cd "$1" && "$2" devices --socket box.sock' sh "$TMP/s" "$ctl"
ok "and from further up" sh -c 'cd "$1" && "$2" devices --socket s/box.sock' sh "$TMP" "$ctl"

# refused COMMAND... -- REGEX
refused() {
    local regex=${*: -1} status=0 said
    said=$("$ctl" "${@:1:$#-1}" 2>&1) || status=$?
    is $status 2 "rgpuctl ${*:1:$#-1}: a wrong command line"
    like "$said" "$regex" "with the reason"
}
refused run -n two -- true '--gpus two: 1\.\.1000'
refused run --gpus=0 -- true '--gpus 0: 1\.\.1000'
refused run --protection none -- true '--protection none: authenticate\|privacy'
refused run --log loud -- true 'error\|warn'
refused events --lines many '--lines many: 0\.\.'
refused events --lines -3 '--lines -3'
refused leases --state asleep '--state asleep: queued'
refused top --interval 0 '--interval 0: 1\.\.3600'
refused boxes --json=yes '--json takes no value'
refused boxes --broker 'needs ADDRESS'
refused boxes nobody --json 'too many arguments'

# Options behind an argument are the command's; behind a program's name they are the program's.
refused drain --socket 'needs PATH'
like "$("$ctl" drain gpu01 --broker unix:/nowhere/at/all 2>&1 || true)" 'nowhere' "an option behind an argument is seen"
refused drain gpu01 --wait --nonsense 'unknown option --nonsense'
refused drain --socket "$TMP/nowhere" --reason 'a fan' 'the broker keeps reasons'
refused top --box 'needs GLOB'
refused leases --width wide '--width wide: 0\.\.10000'
is "$("$ctl" run --box "$BOX" echo --help -n)" "--help -n" "a program has its own options"
is "$("$ctl" run --box "$BOX" -- echo -- -h)" "-- -h" "whatever they are"
done_testing
