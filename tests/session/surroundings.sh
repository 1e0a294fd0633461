# SPDX-License-Identifier: BSD-3-Clause
# For sourcing, after lib.sh and the start of a box: one program (kernels, copies, streams, threads, page-locked and managed
# memory) in many surroundings. A row is a surrounding: its name, and the command that makes it and runs the program that
# follows. Rows run in batches beside each other. What a machine has not makes a row skip, and a row that cannot be made says
# so by status 77, with its reason as its last line. BATCH: rows at a time; LIMIT: seconds for each; run: what runs a program on the box.
BATCH=${BATCH:-12} LIMIT=${LIMIT:-100}
export LIBRARIES=/usr/lib/x86_64-linux-gnu

# ---- what rows are made of ----

in_shell() { # in_shell SCRIPT: a row that prepares the process by a script, which ends with exec "$@"
    rows+=("$1" "bash -c $(printf %q "$2") sh")
}
by() { # by NAME COMMAND...: a row that is a command in front of the program
    local name=$1
    shift
    rows+=("$name" "$(printf '%q ' "$@")")
}
preloaded() { # preloaded NAME FILE...: the first FILE that is there
    local name=$1 file
    shift
    for file; do
        [ -e "$file" ] || continue
        by "$name" env "LD_PRELOAD=$file"
        return
    done
    rows+=("$name" "")
}
alone() { # alone NAME COMMAND...: a row whose program is another one
    local name=$1
    shift
    rows+=("$name" "$(printf '%q ' "$@") #")
}
network() { # network NAME OPTION...: over a worse network (network.py)
    local name=$1
    shift
    in_shell "$name" "[ \"\$RGPU_TRANSPORT\" = tcp ] || { echo only tcp has packets there; exit 77; }; exec python3 \"$TOP/tests/session/network.py\" $(printf '%q ' "$@") \"\$@\""
}
rows=() jobs_of_ours=()

# ---- the table ----

by "nothing special" env
for closed in 0 1 2 01 02 12 012; do
    in_shell "without descriptors $closed" "for fd in $(sed 's/./& /g' <<<"$closed"); do eval \"exec \$fd>&-\"; done; exec \"\$@\""
done
in_shell "32 descriptors at most" 'ulimit -n 32; exec "$@"'
in_shell "64 descriptors at most" 'ulimit -n 64; exec "$@"'
in_shell "300 descriptors at most" 'ulimit -n 300; exec "$@"'
in_shell "900 open descriptors" 'for i in {10..900}; do eval "exec $i</dev/null"; done; exec "$@"'
in_shell "stacks of 64 KiB" 'ulimit -s 64; exec "$@"'
in_shell "stacks without limit" 'ulimit -s unlimited; exec "$@"'
in_shell "no locked memory" 'ulimit -l 0; exec "$@"'
in_shell "no pending signals" 'ulimit -i 0; exec "$@"'
in_shell "no message queues" 'ulimit -q 0; exec "$@"'
in_shell "no core files" 'ulimit -c 0; exec "$@"'
in_shell "files of 1 MiB at most" 'ulimit -f 1024; exec "$@"'
in_shell "16 GiB of addresses" 'ulimit -v 16777216; exec "$@"'
in_shell "2 GiB of data" 'ulimit -d 2097152; exec "$@"'
in_shell "60 seconds of processor time" 'ulimit -t 60; exec "$@"'
by "niceness 19" nice -n 19
by "scheduled as a batch" chrt --batch 0
by "scheduled when idle" chrt --idle 0
by "one processor" taskset 1
for language in C C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8 no_SUCH; do by "language $language" env "LC_ALL=$language"; done
by "another time zone" env TZ=Pacific/Kiritimati
in_shell "umask 0777" 'umask 0777; exec "$@"'
in_shell "a directory that is gone" 'd=$(mktemp -d) && cd "$d" && rmdir "$d" && exec "$@"'
in_shell "no variables but its own" 'exec env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" RGPU_BOXES="$RGPU_BOXES" RGPU_TRANSPORT="$RGPU_TRANSPORT" "$@"'
in_shell "100 KB of variables" 'for i in {1..10}; do export "LONG_$i=$(printf "%010000d" 0)"; done; exec "$@"'
by "no home" env HOME=/nonexistent TMPDIR=/nonexistent
preloaded "jemalloc" "$LIBRARIES"/libjemalloc.so*
preloaded "tcmalloc" "$LIBRARIES"/libtcmalloc_minimal.so*
preloaded "mimalloc" "$LIBRARIES"/libmimalloc.so*
preloaded "the library preloaded" "$BUILD/lib/libcuda.so.1"
in_shell "a clock ten years ahead" 'f=$(find "$LIBRARIES/faketime" -name "libfaketimeMT.so*" | head -n 1); [ -n "$f" ] || exit 77; LD_PRELOAD=$f FAKETIME="+10y" DONT_FAKE_MONOTONIC=1 exec "$@"'
in_shell "a clock ten years behind" 'f=$(find "$LIBRARIES/faketime" -name "libfaketimeMT.so*" | head -n 1); [ -n "$f" ] || exit 77; LD_PRELOAD=$f FAKETIME="-10y" DONT_FAKE_MONOTONIC=1 exec "$@"'
by "one arena of malloc" env MALLOC_ARENA_MAX=1
by "memory that malloc fills" env MALLOC_PERTURB_=165
by "large pages for malloc" env GLIBC_TUNABLES=glibc.malloc.hugetlb=1
by "malloc that maps all" env MALLOC_MMAP_THRESHOLD_=0
by "symbols bound at once" env LD_BIND_NOW=1
by "addresses that are not random" setarch -R
by "the old layout of addresses" setarch -L
by "readable memory that can be executed" setarch -X
by "no rights" setpriv --no-new-privs --bounding-set -all --inh-caps -all
by "a session of its own" setsid -w
in_shell "SIGCHLD ignored" 'trap "" CHLD; exec "$@"'
in_shell "SIGPIPE ignored" 'trap "" PIPE; exec "$@"'
in_shell "SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 ignored" 'trap "" TERM INT HUP USR1 USR2; exec "$@"'
by "all signals blocked" python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execvp(sys.argv[1], sys.argv[1:])'
by "under strace" strace -f -o /dev/null
by "under gdb" gdb -q -batch -return-child-result -ex run --args
in_shell "a process that is stopped and goes on" '"$@" & p=$!; for i in 1 2 3 4 5; do kill -STOP $p; kill -CONT $p; done; wait $p'
in_shell "signals all the time" '"$@" & p=$!; trap "" WINCH; while kill -WINCH $p 2>/dev/null; do :; done & wait $p'
in_shell "full standard output" 'exec "$@" >/dev/full'
in_shell "output into a pipe that nobody reads" 'trap "" PIPE; "$@" > >(exec true); exit $?'
own() { # own NAME OPTIONS [SCRIPT]: in namespaces of its own
    rows+=("$1" "unshare $2 true || exit 77; unshare $2 bash -c $(printf %q "${3:-:}"$'\n''exec "$@"') sh")
}
own "users of its own" -r
own "processes of its own" "-p -f --mount-proc"
own "a host name of its own" -u "hostname elsewhere"
own "semaphores of its own" -i
own "a clock since the start of its own" "-T -f --boottime 100000"
# Without it nobody knows that the box is on the same host.
own "mounts without /proc" -m "export RGPU_TRANSPORT=auto; mount -t tmpfs none /proc"
own "mounts without /sys" -m "mount -t tmpfs none /sys"
own "mounts without /dev/shm" -m "mount -t tmpfs -o size=0 none /dev/shm && mount -o remount,ro /dev/shm"
own "mounts without /etc/resolv.conf, passwd and hosts" -m 'for f in resolv.conf passwd hosts nsswitch.conf; do mount --bind /dev/null "/etc/$f" 2>/dev/null || :; done'
own "mounts that cannot be written" -m "mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp"
by "a summary, a timeline and a log" env RGPU_STATS=1 "RGPU_TRACE=$TMP/trace" RGPU_LOG=debug "CUDA_LOG_FILE=$TMP/errors"
by "kernels loaded at once" env CUDA_MODULE_LOADING=EAGER
by "managed memory by signals" env RGPU_MANAGED_FAULTS=signals
network "packets of 576 bytes" --mtu 576
network "20 ms of delay" --delay 20
network "stalls of 200 ms" --stalls
network "bytes in pieces of 1 to 97" --pieces
network "connections that are reset" --reset 300000
network "connections that are reset at once" --reset 2000
network "packets that are delayed, lost, doubled and out of order" --netem "delay 5ms 2ms loss 1% duplicate 1% reorder 25%"
by "no file may be written but devices (Landlock)" python3 "$TOP/tests/session/landlocked.py"
in_shell "a control group of 96 MiB" 'top=/sys/fs/cgroup/memory; [ -d $top ] || top=/sys/fs/cgroup
group=$(mktemp -d $top/rgpu-test-XXXXXX 2>/dev/null) || exit 77
limit=$group/memory.limit_in_bytes; [ -e "$limit" ] || limit=$group/memory.max
if echo 96M >"$limit"; then echo $BASHPID >"$group/cgroup.procs"; "$@"; status=$?; else status=77; fi
echo $BASHPID >$top/cgroup.procs; rmdir "$group"; exit $status'
alone "three copies of the library, in namespaces of the linker" "$BUILD/tests/loaded-apart" namespaces
alone "a library that prefers its own symbols" "$BUILD/tests/loaded-apart" deepbind
alone "an io_uring that holds page-locked memory" "$BUILD/tests/uring-user"
alone "descriptors that are all closed meanwhile" "$BUILD/tests/rough-process" swept
alone "children of clone3, without the C library" "$BUILD/tests/rough-process" cloned
[ ! -e "$BUILD/tests/sanitized/managed-address" ] ||
    alone "a program with AddressSanitizer" setarch -R "$BUILD/tests/sanitized/managed-address"
# It knows only addresses near those of the kernel: NEAR_BOX has GPUs there.
[ -z "${NEAR_BOX:-}" ] || [ ! -e "$BUILD/tests/sanitized/managed-thread" ] ||
    alone "a program with ThreadSanitizer" env "RGPU_BOXES=$NEAR_BOX" setarch -R "$BUILD/tests/sanitized/managed-thread"

# ---- running them ----

mkdir -p "$TMP/results" "$TMP/locales"
for language in de_DE tr_TR; do localedef -i "$language" -f UTF-8 "$TMP/locales/$language.UTF-8" 2>/dev/null || :; done
export LOCPATH=$TMP/locales

# run_row NUMBER TRANSPORT COMMAND
run_row() {
    local status=0 result=$TMP/results/$1-$2
    "${run[@]}" "RGPU_TRANSPORT=$2" timeout --kill-after=5 $LIMIT bash -c "$3 $(printf '%q ' "$BUILD/tests/rough-process" tour)" \
        >"$result.out" 2>&1 </dev/null || status=$?
    echo $status >"$result"
}

# keep_rows REGEX: only rows whose names match.
keep_rows() {
    local all=("${rows[@]}") i
    rows=()
    for ((i = 0; i < ${#all[@]}; i += 2)); do
        [[ ! ${all[i]} =~ $1 ]] || rows+=("${all[i]}" "${all[i + 1]}")
    done
}

# run_rows TRANSPORT...: as many at a time as a batch has.
run_rows() {
    local transport i result status
    for transport; do
        for ((i = 0; i < ${#rows[@]}; i += 2)); do
            [ -n "${rows[i + 1]}" ] || continue
            run_row "$i" "$transport" "${rows[i + 1]}" &
            jobs_of_ours+=($!)
            if [ ${#jobs_of_ours[@]} -ge $BATCH ]; then
                wait "${jobs_of_ours[@]}"
                jobs_of_ours=()
            fi
        done
    done
    [ ${#jobs_of_ours[@]} = 0 ] || wait "${jobs_of_ours[@]}"
    for transport; do
        for ((i = 0; i < ${#rows[@]}; i += 2)); do
            result=$TMP/results/$i-$transport
            status=$(cat "$result" 2>/dev/null || echo 77)
            case $status in
            77) skip "$transport, ${rows[i]}: $(tail -n 1 "$result.out" 2>/dev/null | grep . || echo "not to be had here")" ;;
            0) pass "$transport, ${rows[i]}" ;;
            *) fail "$transport, ${rows[i]}"
                diag "status $status from: ${rows[i + 1]}"
                tail -n 8 "$result.out" | sed 's/^/#   /' >&2 ;;
            esac
        done
    done
}
