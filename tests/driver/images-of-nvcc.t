#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the installed nvcc writes is read back whole, in every compression that it offers.
. "$(dirname "$0")/../lib.sh"

PATH=${CUDA_HOME:-/usr/local/cuda}/bin:$PATH
requires nvcc
show=$BUILD/tests/tools/image-show

cat >"$TMP/add.cu" <<'EOF'
extern "C" __global__ void add(const float *a, const float *b, float *c) { *c = *a + *b; }
EOF
architectures=(-gencode "arch=compute_80,code=sm_80"
    -gencode "arch=compute_90,code=[sm_90,compute_90]")

modes=$(nvcc --help | sed -nE 's/^--compress-mode \[([a-z,]+)\].*/\1/p' | tr , ' ')
for mode in ${modes:-default}; do
    nvcc -fatbin "${architectures[@]}" ${modes:+--compress-mode=$mode} "$TMP/add.cu" \
        -o "$TMP/$mode.fatbin"
    shown=$("$show" "$TMP/$mode.fatbin")
    like "$shown" '^image kind=fatbin' "compression $mode: a fatbin"
    is "$(grep -c '^entry .* result=0$' <<<"$shown")" 3 "three entries, each sound"
    like "$shown" '^entry kind=ptx arch=90 .* inside=ptx' "one is PTX for 9.0"
    is "$(grep -c '^entry kind=elf .* inside=elf' <<<"$shown")" 2 "two are ELF"
    like "$("$show" "$TMP/$mode.fatbin" 90)" '^\.target sm_90' "the PTX comes out readable"
    diag "$(sed -n 's/.*arch=\([0-9]*\) compression=\([a-z0-9]*\).*/\1:\2/p' <<<"$shown" | xargs)"
done

nvcc -cubin -arch=sm_90 "$TMP/add.cu" -o "$TMP/add.cubin"
size=$(stat -c %s "$TMP/add.cubin")
like "$("$show" "$TMP/add.cubin")" "^image kind=elf size=$size of $size$" "a cubin's size is its own"

cat >"$TMP/variables.cu" <<'EOF'
__device__ float big[1000];
__device__ double4 quads[3];
__device__ int one = 5;
__device__ short initial[] = {1, 2, 3, 4, 5};
__constant__ int constants[10];
__managed__ int managed;
extern "C" __global__ void use(float *p)
{
    static __device__ char inside[33];
    big[3] = ++one + inside[3] + constants[1] + managed;
    initial[1] = inside[2] = 1;
    quads[2].y = initial[2];
    *p = big[threadIdx.x] + quads[1].x;
}
EOF
for form in -ptx -cubin -fatbin; do
    nvcc $form -arch=sm_90 "$TMP/variables.cu" -o "$TMP/variables" 2>/dev/null
    like "$("$show" "$TMP/variables")" '^variables 4147$' "variables are counted ($form)"
done
cat >"$TMP/kernels.cu" <<'EOF'
__constant__ int table[100];
__device__ __noinline__ int deep(int x) { return x < 2 ? table[x] : deep(x - 1) + deep(x - 2); }
extern "C" __global__ void small(int *p) { *p = deep(*p); }
extern "C" __global__ void large(double *p) { *p = *p / 3.7 / p[1] + deep((int)*p); }
EOF
nvcc -rdc=true -cubin -arch=sm_90 "$TMP/kernels.cu" -o "$TMP/kernels" 2>/dev/null
read -r code common kernel < <("$show" "$TMP/kernels" | sed -n 's/^code \([0-9]*\) common \([0-9]*\) kernel /\1 \2 /p')
ok "a function of its own is common to the kernels" [ "$common" -gt 400 ]
ok "and each kernel is not" [ "$((common + kernel))" -lt "$code" -a "$((common + 2 * kernel))" -gt "$code" ]
done_testing
