#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# LAMMPS, where bench/studies/build-lammps has built it, computes the same through a box as without a GPU: on software GPUs, alone
# and with ranks, over shared memory and TCP. seconds: 400
. "$(dirname "$0")/../lib.sh"
directory=$BUILD/bench/studies/lammps
[ -x "$directory/lmp" ] || skip_all "LAMMPS is not built: bench/studies/build-lammps"
start_box --devices sim:2
energy() { python3 -c 'import json, sys; print([json.loads(line)["energy"] for line in sys.stdin if "energy" in line][0])'; }
molecules() { (cd "$TMP" && timeout 250 python3 "$TOP/bench/studies/programs/molecules.py" "$directory" "$@") | energy; }
near() { python3 -c 'import sys; a, b = map(float, sys.argv[1:]); sys.exit(not abs(a - b) < 1e-5 * abs(a))' "$@"; }
export LD_LIBRARY_PATH=$BUILD/lib RGPU_BOXES=$BOX
for input in lj eam; do
    want=$(molecules $input 1 --no-gpu --steps 5)
    for transport in shm tcp; do
        export RGPU_TRANSPORT=$transport
        ok "$input: the same energy over $transport" near "$want" "$(molecules $input 1 --steps 5)"
        ok "$input: with two ranks on two GPUs" near "$want" "$(molecules $input 1 --steps 5 --ranks 2 --gpus 2)"
    done
done
done_testing
