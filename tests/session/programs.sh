# SPDX-License-Identifier: BSD-3-Clause
# Runs every program of tests/programs as one check each. The caller sets `run`, a command that
# runs a program where it should run, and `emulator` if the program is for another processor, and calls run_programs.

PROGRAM_SECONDS=${PROGRAM_SECONDS:-120}
[ -z "${VALGRIND:-}${SAN:-}" ] || PROGRAM_SECONDS=600

# run_program LABEL PROGRAM [ARGUMENT...]: passes when the program passes all of its checks, skips
# when it skips itself, and shows what failed otherwise.
run_program() {
    local label=$1 status=0 skipped
    shift
    "${run[@]}" timeout --kill-after=5 "$PROGRAM_SECONDS" ${emulator:+"$emulator"} "$@" \
        >"$TMP/program.out" 2>"$TMP/program.err" </dev/null || status=$?
    skipped=$(sed -n 's/^1\.\.0 # SKIP //p' "$TMP/program.out")
    if [ $status = 0 ] && [ -n "$skipped" ]; then
        skip "$label: $skipped"
    elif [ $status = 0 ] && grep -q '^1\.\.[1-9]' "$TMP/program.out"; then
        pass "$label"
    else
        fail "$label"
        diag "status $status$([ $status != 124 ] || echo ' (time is up)')"
        grep -A6 '^not ok' "$TMP/program.out" | sed 's/^/#   /' >&2 || true
        tail -n 3 "$TMP/program.out" | sed 's/^/#   /' >&2
        grep -aE -A12 "ERROR: |runtime error:|WARNING: " "$TMP/program.err" | head -n 40 | sed "s/^/#   /" >&2 || true
        tail -n 12 "$TMP/program.err" | sed 's/^/#   /' >&2
    fi
}

# run_checks NAME...: programs of $BUILD/tests, each of which prints TAP of its own; here it is one check, shown where it
# fails or skips itself.
run_checks() {
    local name status
    for name; do
        status=0
        timeout --kill-after=5 "$PROGRAM_SECONDS" "$BUILD/tests/$name" >"$TMP/out" 2>"$TMP/err" </dev/null || status=$?
        if [ $status = 0 ] && grep -q '^1\.\.[1-9]' "$TMP/out"; then
            pass "$name ($(grep -c '^ok' "$TMP/out") checks)"
        else
            fail "$name"
            diag "status $status"
            grep -A3 '^not ok' "$TMP/out" >&2 || true
            tail -n 5 "$TMP/err" >&2
        fi
    done
}

# run_programs [SKIPPED...]: all but those named.
run_programs() {
    local program name kind
    for program in "$BUILD"/tests/programs/*; do
        name=${program##*/}
        [ -f "$program" ] && [ -x "$program" ] || continue
        case " exits idle endure commanded $* " in *" $name "*) continue ;; esac
        run_program "C: $name" "$program"
    done
    for kind in static shared; do
        if [ ! -d "$BUILD/tests/programs/$kind" ]; then
            skip "CUDA C++ with the runtime linked ($kind): no nvcc to build them"
            continue
        fi
        for program in "$BUILD/tests/programs/$kind"/*; do
            name=${program##*/}
            case " $* " in *" $name "*) continue ;; esac
            # Kernels of cuBLAS are machine code, which the software GPU does not run.
            if [ "$name" = sgemm ] && [ -z "${REAL_GPU:-}" ]; then
                skip "CUDA C++, $kind runtime: sgemm needs a real GPU"
                continue
            fi
            run_program "CUDA C++, $kind runtime: $name" "$program"
        done
    done
}
