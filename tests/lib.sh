# SPDX-License-Identifier: BSD-3-Clause
# Shell side of the tests: TAP for `prove`, starting real programs and waiting until they are
# ready, and a clean-up that ends everything the test started, however the test ends.
# A test sources this file first and calls `done_testing` last:
#
#     . "$(dirname "$0")/../lib.sh"
#     requires nc
#     start_box --devices sim:1
#     ok "a program runs" on_box "$BUILD/tests/programs/saxpy"
#     done_testing
#
# Sets: TOP (source tree), BUILD (build directory), TMP (a directory of this test's own).

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "${BUILD:-}" ]; then
    # Started by hand: what the test needs is installed and built first.
    make --silent -C "$TOP" ready T="tests/${0##*tests/}" >&2 </dev/null
    BUILD=$TOP/build
fi
TMP=$(mktemp -d "${TMPDIR:-/tmp}/rgpu-test.XXXXXX")
# After this time a wait fails. It is long because a machine under load is slow, and a wait that succeeds ends at
# once; the time limit of the whole test is run-one's.
READY_SECONDS=${READY_SECONDS:-120}

tap_count=0
tap_failures=0
tap_finished=
started=()

# ---- TAP ----

pass() { tap_count=$((tap_count + 1)); echo "ok $tap_count - $1"; }
fail() {
    tap_count=$((tap_count + 1))
    if [ -n "${tap_known:-}" ]; then
        echo "not ok $tap_count - $1 # TODO $tap_known"
        return
    fi
    tap_failures=$((tap_failures + 1))
    echo "not ok $tap_count - $1"
    echo "#   failed at $(caller_outside)" >&2
}
# open_fault TEXT CHECK...: a check that the product does not always pass yet; TEXT names the fault. It fails no run, and prove
# counts it (TODO).
open_fault() {
    local tap_known=$1
    shift
    "$@"
}
diag() { sed 's/^/# /' <<<"$*" >&2; }

caller_outside() {
    local i
    for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
        [ "${BASH_SOURCE[$i]}" = "${BASH_SOURCE[0]}" ] && continue
        echo "${BASH_SOURCE[$i]}:${BASH_LINENO[$((i - 1))]}"
        return
    done
}

# ok DESCRIPTION COMMAND...: holds when the command succeeds; its output is shown when it does not.
ok() {
    local what=$1 status=0
    shift
    "$@" >"$TMP/ok.out" 2>&1 || status=$?
    if [ $status = 0 ]; then pass "$what"; return; fi
    fail "$what"
    diag "status $status from: $*"
    tail -n 40 "$TMP/ok.out" | sed 's/^/#   /' >&2
}

# fails DESCRIPTION COMMAND...: holds when the command ends by itself with a status that is not 0.
fails() {
    local what=$1 status=0
    shift
    "$@" >"$TMP/ok.out" 2>&1 || status=$?
    if [ $status != 0 ] && [ $status -lt 124 ]; then pass "$what"; return; fi
    fail "$what"
    diag "status $status from: $*"
    tail -n 40 "$TMP/ok.out" | sed 's/^/#   /' >&2
}

# is GOT WANT DESCRIPTION
is() {
    if [ "$1" = "$2" ]; then pass "$3"; return; fi
    fail "$3"
    diag "   got: $1"
    diag "  want: $2"
}

# like TEXT REGEX DESCRIPTION; unlike is its opposite. The regex is extended, matched by line.
like() {
    if grep -Eq -e "$2" <<<"$1"; then pass "$3"; return; fi
    fail "$3"
    diag "no match for /$2/ in:"
    tail -n 40 <<<"$1" | sed 's/^/#   /' >&2
}
unlike() {
    if ! grep -Eq -e "$2" <<<"$1"; then pass "$3"; return; fi
    fail "$3"
    diag "unwanted match for /$2/ in:"
    grep -E -e "$2" <<<"$1" | head -n 10 | sed 's/^/#   /' >&2
}

skip() { tap_count=$((tap_count + 1)); echo "ok $tap_count # SKIP $1"; }
skip_all() {
    echo "1..0 # SKIP $*"
    tap_finished=yes
    exit 0
}

# web URL: prints the page there.
web() { python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "$1"; }

# requires COMMAND...: the whole test is skipped where one of them is missing.
requires() {
    local command
    for command; do
        command -v "$command" >/dev/null || skip_all "$command is not there"
    done
}

done_testing() {
    echo "1..$tap_count"
    tap_finished=yes
    exit $((tap_failures > 0))
}

# ---- processes ----

# spawned BOX_PID PGREP_ARGUMENTS...: numbers of the processes that the box's rgpu-spawner has started.
spawned() { pgrep -P "${SPAWNER_PID:-$(pgrep -P "$1" -x rgpu-spawner)}" "${@:2}"; }

# start NAME COMMAND...: runs it in the background in a session of its own, killed with this
# shell; standard output goes to the pipe that `await_line` reads, the rest to $TMP/NAME.log.
# Sets PID.
declare -A line_pipe=() line_pid=()
start() {
    local name=$1 fd
    shift
    rm -f "$TMP/$name.pipe"
    mkfifo "$TMP/$name.pipe"
    exec {fd}<>"$TMP/$name.pipe"
    setsid setpriv --pdeathsig KILL "$@" >"$TMP/$name.pipe" 2>>"$TMP/$name.log" {fd}>&- &
    PID=$!
    line_pipe[$name]=$fd line_pid[$name]=$PID
    started+=("$PID")
}

# read_line NAME SECONDS: sets LINE to the next whole line; status 1 when there is none yet. `read` takes
# what has come of a line when its time is up, and the rest is the next one's: it is kept until then.
declare -A line_begun=()
read_line() {
    local part=
    if IFS= read -r -t "$2" -u "${line_pipe[$1]}" part; then
        LINE=${line_begun[$1]:-}$part
        line_begun[$1]=
        return 0
    fi
    line_begun[$1]+=$part
    return 1
}

# await_line NAME [REGEX]: waits for a line of NAME's standard output that matches; sets LINE.
await_line() {
    local name=$1 regex=${2:-.} deadline=$((SECONDS + READY_SECONDS)) ended=
    while [ $SECONDS -lt $deadline ]; do
        # In this order: what it said before it ended is still read.
        kill -0 "${line_pid[$name]}" 2>/dev/null || ended=yes
        if read_line "$name" 0.5; then
            if [[ $LINE =~ $regex ]]; then return 0; fi
        elif [ -n "$ended" ]; then
            diag "$name ended before it said /$regex/"
            tail -n 30 "$TMP/$name.log" | sed 's/^/#   /' >&2
            return 1
        fi
    done
    diag "$name did not say /$regex/ within $READY_SECONDS s"
    tail -n 30 "$TMP/$name.log" | sed 's/^/#   /' >&2
    return 1
}

# logs FILE REGEX DESCRIPTION: the file gets a line that matches; another program writes it, perhaps
# a moment later.
logs() {
    await "$3" grep -Eq -e "$2" "$1" || true
    like "$(cat "$1")" "$2" "$3"
}

# drain NAME: forgets what NAME has said so far.
drain() { while read_line "$1" 0.01; do :; done; }

# await DESCRIPTION COMMAND...: polls until the command succeeds, for conditions that no pipe tells. Each check starts processes, which
# take time from what is waited for, so the pauses become longer.
await() {
    local what=$1 deadline=$((SECONDS + READY_SECONDS)) pause=50 seconds
    shift
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -ge $deadline ]; then
            diag "waited $READY_SECONDS s in vain: $what"
            return 1
        fi
        printf -v seconds 0.%03d $pause
        read -r -t "$seconds" -u "$never_fd" || true
        pause=$((pause < 200 ? pause * 3 / 2 : pause))
    done
}
mkfifo "$TMP/never"
exec {never_fd}<>"$TMP/never"

# stop PID [SIGNAL]: ends one started process and all of its session.
stop() {
    local pid=$1 signal=${2:-TERM}
    kill -s "$signal" -- "-$pid" 2>/dev/null || kill -s "$signal" "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

stop_all() {
    local pid deadline
    for pid in "${started[@]}"; do kill -s TERM -- "-$pid" 2>/dev/null || true; done
    deadline=$((SECONDS + 5))
    for pid in "${started[@]}"; do
        while kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $deadline ]; do
            read -r -t 0.05 -u "$never_fd" || true
        done
        kill -s KILL -- "-$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    started=()
}

cleanup() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    stop_all
    if [ -n "${KEEP_TMP:-}" ]; then echo "# kept $TMP" >&2; else rm -rf --one-file-system "$TMP"; fi
    if [ -z "$tap_finished" ] && [ $status = 0 ]; then
        echo "# the test ended without done_testing" >&2
        status=1
    fi
    exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run_with_timeout SECONDS COMMAND...: status 124 when time is up.
run_with_timeout() { timeout --kill-after=5 "$@"; }

# ---- other users ----

# as_user UID COMMAND...: as that user, who need not be able to see this tree: what he runs or reads
# was given him by `share`.
as_user() {
    local uid=$1
    shift
    setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

# share FILE...: copies for everybody to run and read, in $SHARED.
SHARED=$TMP/shared
share() {
    mkdir -p "$SHARED"
    cp "$@" "$SHARED"
    chmod -R a+rX "$SHARED"
    chmod a+x "$TMP"
}

# ---- boxes ----

boxes=0

# start_box [rgpud arguments]: starts a real box and waits until it says that it is ready.
# Without arguments: two software GPUs on a free port of this host. Sets BOX (host:port),
# BOX_PID and BOX_LOG.
start_box() {
    local args=("$@") name=box$boxes
    boxes=$((boxes + 1))
    case " $* " in *" --config "*) ;; *)
        args+=(--standalone)
        case " $* " in *" --devices "*) ;; *) args+=(--devices "${RGPU_TEST_DEVICES:-sim:2}") ;; esac
        case " $* " in *" --listen "*) ;; *) args+=(--listen 127.0.0.1:0) ;; esac
    esac
    local under=("${BOX_UNDER[@]}")
    [ -z "${VALGRIND:-}" ] || under=(valgrind -q --error-exitcode=99)
    start "$name" "${under[@]}" "$BUILD/bin/rgpud" "${args[@]}"
    BOX_PID=$PID BOX_LOG=$TMP/$name.log
    await_line "$name" '([][0-9A-Za-z.:_-]+:[0-9]+)' || bail "the box did not start"
    [[ $LINE =~ (([0-9]+\.){3}[0-9]+:[0-9]+) ]] || bail "no address in the box's ready line: $LINE"
    BOX=${BASH_REMATCH[1]}
}

# start_spawner [settings]: an rgpu-spawner that outlives the boxes that are started with `--spawner "$SPAWNER"`.
# Sets SPAWNER_PID.
SPAWNER=$TMP/orders.sock
start_spawner() {
    start spawner "$BUILD/bin/rgpu-spawner" --standalone "$@" --orders "$SPAWNER" --for "$(id -u)"
    SPAWNER_PID=$PID
    await "the spawner listens" test -S "$SPAWNER" || bail "the spawner did not start"
}

bail() {
    fail "$1"
    tap_finished=yes
    echo "1..$tap_count"
    exit 1
}

# The sanitizers' run-time must come first in a program that is not built with them.
preload_for_sanitizers() {
    local library
    case "$BUILD" in
    *san-*address*) library=libasan.so ;;
    *san-*thread*) library=libtsan.so ;;
    *) return 0 ;;
    esac
    "${CC:-gcc}" -print-file-name="$library"
}

# on_box PROGRAM...: runs an unmodified program with our libcuda.so.1 on the box BOX.
# Extra variables can stand in front: on_box RGPU_TRANSPORT=tcp PROGRAM...
on_box() {
    local preload
    preload=$(preload_for_sanitizers)
    env ${preload:+LD_PRELOAD="$preload"} LD_LIBRARY_PATH="$BUILD/lib" RGPU_BOXES="${BOXES:-$BOX}" \
        "$@"
}

# natively PROGRAM...: runs it directly on the software GPU, without any box.
natively() {
    local preload
    preload=$(preload_for_sanitizers)
    if [ ! -e "$TMP/native/libcuda.so.1" ]; then
        mkdir -p "$TMP/native"
        ln -s "$BUILD/lib/libcuda-sim.so" "$TMP/native/libcuda.so.1"
    fi
    env ${preload:+LD_PRELOAD="$preload"} LD_LIBRARY_PATH="$TMP/native" "$@"
}
