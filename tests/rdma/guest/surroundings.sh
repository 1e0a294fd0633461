#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: the surroundings of tests/session/surroundings.sh, memory that faults, and a checkpointing tool, over verbs.
. "$TOP/tests/rdma/guest/common.sh"
. "$TOP/tests/session/programs.sh"
. "$TOP/tests/session/held.sh"
rough=$BUILD/tests/rough-process
mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
start_rdma_box
run=(over_rdma)
BATCH=4
. "$TOP/tests/session/surroundings.sh"
# Verbs depend on registered memory, descriptors, device files, signals and forks. The rows about languages, clocks and
# the like run over shm and tcp; each would take an emulated machine five seconds here.
keep_rows '^nothing|descriptors (2|012)$|[0-9]+ (open )?descriptors|locked memory|addresses$|of data|no rights|signals|SIGCHLD|stopped|Landlock|control group|io_uring|clone3|namespaces of'
run_rows rdma

run_program "pages that a handler opens" "$rough" barriers
for bytes in 4096 1048576 33554432; do
    status=0
    over_rdma "$rough" gone $bytes >"$TMP/out" 2>&1 || status=$?
    is $status 139 "a copy of $bytes bytes into memory that is gone ends the program by SIGSEGV"
done

for mode in "many 70000 4096" "again 7000 65536" busy captured full forked; do
    run_program "page-locked memory: $mode" "$BUILD/tests/host-memory" $mode
done

# CRIU stops the program, looks at everything in it, and finds connections that it cannot save.
transports="rdma tcp"
command -v criu >/dev/null || { skip "no criu (scripts/install-deps rdma)"; transports=; }
for transport in $transports; do
    start_held $transport 8 env "LD_LIBRARY_PATH=$BUILD/lib" "RGPU_BOXES=$BOX" "RGPU_TRANSPORT=$transport" \
        "RGPU_RDMA_ADDRESS=$RDMA_VM_ADDRESS_1"
    await_line $transport ready || bail "the program does not start"
    program=$(pgrep -n held-data)
    mkdir "$TMP/image-$transport"
    fails "$transport: a session is not dumped by CRIU" \
        criu dump --tree "$program" --images-dir "$TMP/image-$transport" --leave-running --shell-job -o log
    diag "$(grep -m 1 Error "$TMP/image-$transport/log")"
    look $transport
    ok "$transport: the program goes on with its data" await_line $transport '^right 1$'
    stop "${line_pid[$transport]}"
done
ok "the box serves the next program" over_rdma "$rough" tour
ok "the box is alive" kill -0 "$BOX_PID"
done_testing
