#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Boxes and programs on older kernels, as a filter of system calls makes them (tests/harness/older_kernel.c): Enterprise Linux 8
# (4.18) and 9 (5.14), Ubuntu 22.04 (5.15) and 24.04 (6.8), and with each feature missing alone. What is missing is said once, with
# what it costs; a box does not start without what it needs, and names the kernel that has it.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
[ -z "${VALGRIND:-}${SAN:-}" ] || skip_all "tools like these have system calls of their own"
older=$BUILD/tests/older_kernel
"$older" 4.18 true || skip_all "no filter of system calls can be set"
programs=(saxpy copies managed batches pinned registered virtual threads forks allocations)

# session LABEL CHOICE TRANSPORT PROGRAM...
session() {
    local label=$1 choice=$2 transport=$3 program
    run=(on_box env "RGPU_TRANSPORT=$transport" "$older" "$choice")
    for program in "${@:4}"; do
        run_program "$label, $transport: $program" "$BUILD/tests/programs/$program"
    done
}
warnings() { grep -c "warn: this kernel has no $1 (Linux" "$BOX_LOG" || true; }
names() { "$older" --list | cut -d' ' -f1; }

# ---- kernels ----
start_box
for transport in shm tcp; do session "a program on Linux 4.18" 4.18 $transport "${programs[@]}"; done
stop "$BOX_PID"
for kernel in 5.3 5.14 5.15 6.8; do
    BOX_UNDER=("$older" $kernel)
    start_box
    for transport in shm tcp; do session "all on Linux $kernel" $kernel $transport "${programs[@]:0:4}"; done
    landlock=0
    [ $kernel != 5.3 ] || landlock=1
    is "$(warnings Landlock)" $landlock "the box on Linux $kernel says so where it has no Landlock"
    stop "$BOX_PID"
done

# ---- features ----
for name in $(names); do
    BOX_UNDER=("$older" "$name")
    case $name in
    pidfd | seal-future-write)
        out=$("$older" "$name" "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 2>&1 </dev/null) && status=0 || status=$?
        is "$status" 2 "without $name no box starts"
        like "$out" "error: this kernel has no .*, which rgpud needs: Linux 5\.[13] has it" "it says which kernel has it"
        out=$("$older" "$name" "$BUILD/bin/rgpud" --standalone --check-config 2>&1) && status=0 || status=$?
        is "$status" 1 "--check-config finds it"
        ;;
    *)
        start_box
        session "without $name" "$name" shm saxpy managed
        stop "$BOX_PID"
        ;;
    esac
done
BOX_UNDER=("$older" landlock,close-range,seccomp-addfd)
start_box
for name in Landlock close_range 'seccomp addfd'; do is "$(warnings "$name")" 1 "the box says once that $name is missing"; done
like "$("${BOX_UNDER[@]}" "$BUILD/bin/rgpud" --standalone --check-config 2>&1)" "no Landlock (.*): workers open every file" \
    "--check-config says it, too"
like "$("$older" populate "$BUILD/bin/rgpuctl" doctor 2>&1)" '^kernel +ok +no populate \(Linux 5\.14\)' \
    "rgpuctl doctor says what a program's kernel lacks"

# ---- the page ----
page=$(sed -n '/^## Features/,/^## /p' "$TOP/docs/reference/systems.md")
for row in $(sed -n 's/^ *{"\([^"]*\)", "\([0-9.]*\)", FEATURE.*/\1=\2/p' "$TOP/common/security/features.c" | tr ' ' _); do
    name=${row%=*}
    like "$page" "\| ${name//_/[_ ]} \| ${row#*=} \|" "docs/reference/systems.md has $name"
done
done_testing
