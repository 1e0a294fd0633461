#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 600
# Each system call that the library uses is refused in turn, with EPERM and with ENOSYS, as services under seccomp and old
# kernels refuse it, and with EACCES those that SELinux and AppArmor refuse: the program computes all the same or gets an error, and neither crashes nor hangs.
. "$(dirname "$0")/../lib.sh"
start_box
BATCH=12 LIMIT=100
calls="socket connect sendmsg sendto recvmsg recvfrom poll eventfd2 memfd_create fcntl ioctl setsockopt getsockopt
    getpeername getsockname getrandom madvise mremap msync munmap sched_getaffinity sysinfo uname clone clone3 userfaultfd
    ftruncate fallocate lseek newfstatat openat shutdown readlink getdents64 prctl rt_sigprocmask clock_nanosleep
    sched_yield membarrier"
denied="socket connect sendmsg sendto recvmsg recvfrom memfd_create ioctl setsockopt getsockopt getpeername getsockname
    newfstatat openat shutdown readlink getdents64 mmap mprotect userfaultfd"
refusals=($(printf '%s=EPERM ' $calls) $(printf '%s=ENOSYS ' $calls) $(printf '%s=EACCES ' $denied))
running=()
for transport in shm tcp; do
    for refusal in "${refusals[@]}"; do
        {
            status=0
            on_box "RGPU_TRANSPORT=$transport" timeout --kill-after=5 $LIMIT "$BUILD/tests/rough-process" deny \
                "$refusal" >"$TMP/$transport-$refusal.out" 2>&1 </dev/null || status=$?
            echo $status >"$TMP/$transport-$refusal"
        } &
        running+=($!)
        [ ${#running[@]} -lt $BATCH ] || { wait "${running[@]}"; running=(); }
    done
done
[ ${#running[@]} = 0 ] || wait "${running[@]}"
for transport in shm tcp; do
    for refusal in "${refusals[@]}"; do
        file=$TMP/$transport-$refusal status=$(cat "$TMP/$transport-$refusal")
        what="$transport: ${refusal/=/ gives }"
        if [ "$status" -lt 124 ]; then
            pass "$what: $([ "$status" = 0 ] && echo computes || echo an error)"
        else
            fail "$what: status $status"
            tail -n 6 "$file.out" | sed 's/^/#   /' >&2
        fi
    done
done
ok "the box serves the next program" on_box "$BUILD/tests/rough-process" tour
done_testing
