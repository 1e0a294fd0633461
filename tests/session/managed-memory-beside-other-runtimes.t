#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Managed memory, and page-locked memory with a mirror, in programs that others look into as well: built with
# AddressSanitizer and ThreadSanitizer, with Python's faulthandler, and with a Java virtual machine in the process.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/programs.sh"
[ -z "${SAN:-}" ] || skip_all "everything is built with a sanitizer"
# ThreadSanitizer knows only the addresses that the kernel gives by itself, and these without much chance in them.
export RGPU_SIM_ADDRESSES=near
start_box
fixed=
! setarch -R true 2>/dev/null || fixed="setarch -R"
jvm=$(ls /usr/lib/jvm/*/lib/server/libjvm.so 2>/dev/null | head -n 1)
ways="userfaultfd signals"
python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(323, 0o2000001) < 0)' || ways=signals
for faults in $ways; do
    run=(on_box RGPU_TRANSPORT=tcp RGPU_MAPPED_HOST=mirror "RGPU_MANAGED_FAULTS=$faults")
    for program in managed managed-system mapped-host; do
        run_program "$faults: $program under AddressSanitizer" "$BUILD/tests/sanitized/$program-address"
        if [ -n "$fixed" ]; then
            run_program "$faults: $program under ThreadSanitizer" setarch -R "$BUILD/tests/sanitized/$program-thread"
        else
            skip "$faults: $program under ThreadSanitizer: addresses cannot be fixed here"
        fi
    done
    for order in early late; do
        output=$("${run[@]}" python3 "$TOP/tests/session/faulthandler.py" $order 2>&1 || true)
        like "$output" "managed memory was used" "$faults, faulthandler $order: Python uses managed memory"
        like "$output" "in string_at" "$faults, faulthandler $order: and is told of its own fault"
    done
    for order in first last; do
        if [ -n "$jvm" ]; then
            run_program "$faults: a Java virtual machine that came $order" "$BUILD/tests/java-beside" "$jvm" $order
        else
            skip "$faults: no Java virtual machine here"
        fi
    done
done
# What is shared has addresses that ThreadSanitizer knows as well.
run=(on_box RGPU_TRANSPORT=shm)
[ -z "$fixed" ] ||
    run_program "memory that is shared under ThreadSanitizer" setarch -R "$BUILD/tests/sanitized/mapped-host-thread"
ok "the box is alive after all of them" kill -0 "$BOX_PID"
done_testing
