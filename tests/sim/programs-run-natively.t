#!/bin/bash
# The programs of tests/programs run unmodified on the software GPU, as on a machine with a real one:
# with its library in the place of the driver's.
. "$(dirname "$0")/../lib.sh"

export LD_LIBRARY_PATH=$BUILD/lib/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export RGPU_SIM_DEVICES=2 RGPU_SIM_MEMORY=2G RGPU_SIM_STATE=$TMP/state

# run NAME PROGRAM: skips where the program was not built.
run() {
    if [ -x "$2" ]; then ok "$1" timeout 60 "$2"; else skip "$1: $(basename "$2") was not built"; fi
}

for source in "$TOP"/tests/programs/*.c; do
    name=$(basename "$source" .c)
    [ "$name" != endure ] || continue # runs until it is stopped
    run "the Driver API: $name" "$BUILD/tests/programs/$name"
done
for source in "$TOP"/tests/programs/runtime/*.cu; do
    name=$(basename "$source" .cu)
    case $name in sgemm | compile) continue ;; esac # need libraries with machine code
    for kind in static shared; do
        run "the runtime, $kind: $name" "$BUILD/tests/programs/$kind/$name"
    done
done
done_testing
