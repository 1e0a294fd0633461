#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recipe for LAMMPS says what it misses and how to get it, before it fetches or writes anything, and mends the source for
# newer toolkits; what it cannot mend it says.
. "$(dirname "$0")/../lib.sh"
recipe=$TOP/bench/studies/build-lammps
export TMPDIR=$TMP/scratch
mkdir "$TMPDIR"
said() { "$recipe" --to "$TMP/out" "$@" 2>&1 || true; }
mkdir "$TMP/bin" "$TMP/toolkit" "$TMP/toolkit/bin" "$TMP/toolkit/include"
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13"\n' >"$TMP/toolkit/bin/nvcc"
touch "$TMP/toolkit/include/cuda.h"
chmod +x "$TMP/toolkit/bin/nvcc"
like "$(NVCC=$TMP/none said)" "no nvcc: LAMMPS' kernels need CUDA's compiler" "without nvcc it says what to install"
like "$(NVCC=$TMP/none said)" "NVCC=/path/to/nvcc" "and how to say where it is"
# A PATH with what the recipe itself needs, but no cmake.
for tool in bash env sed awk readlink realpath dirname mkdir mktemp rm cat nproc grep; do ln -s "$(command -v $tool)" "$TMP/bin/"; done
like "$(PATH=$TMP/bin NVCC=$TMP/toolkit/bin/nvcc said)" "no cmake: run scripts/install-deps lammps" "without cmake too"
like "$(said --nonsense)" "unknown argument --nonsense" "an unknown argument is refused"
like "$(said --arch)" "--arch wants a value" "and one without its value"
fails "nothing has been written" test -e "$TMP/out"
# Tools that are there, and a source that the recipe does not know.
for tool in cmake mpicxx make; do printf '#!/bin/sh\nexit 1\n' >"$TMP/bin/$tool"; chmod +x "$TMP/bin/$tool"; done
for tool in cp rm ls head tail nice install dpkg-source apt-get; do ln -sf "$(command -v $tool)" "$TMP/bin/"; done
mkdir -p "$TMP/tree"/{src/{MANYBODY,MOLECULE,KSPACE,RIGID,GPU},lib/gpu/geryon}
device=$TMP/tree/lib/gpu/geryon/nvd_device.h neighbours=$TMP/tree/lib/gpu/lal_neighbor_gpu.cu
echo 'CUresult err=cuCtxCreate_v9(&_context);' >"$device"
touch "$neighbours" "$TMP"/tree/src/GPU/pair_{lj_cut,sw}_gpu.cpp
with_tree() { PATH=$TMP/bin NVCC=$TMP/toolkit/bin/nvcc said --source "$TMP/tree" --arch sm_90; }
like "$(with_tree)" "calls cuCtxCreate in an unknown way" "a source that creates contexts in another way is refused"
echo 'CUresult err=cuCtxCreate(&_context,0,_cu_device);' >"$device"
like "$(with_tree)" "chooses kernels for neighbours in an unknown way" "and one whose kernels are chosen in another way"
echo '#if (__CUDACC_VER_MAJOR__ == 11) && (__CUDACC_VER_MINOR__ >= 2)' >"$neighbours"
like "$(with_tree)" "cmake failed" "what it knows it mends, and goes on to cmake"
is "$(cat "$device")" 'CUresult err=cuCtxCreate(&_context,0,_cu_device);' "in a copy: the given source stays as it was"
is "$(ls -A "$TMPDIR")" "" "nothing is left behind"
done_testing
