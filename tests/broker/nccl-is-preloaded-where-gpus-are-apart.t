#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rgpuctl run has our libnccl.so.2 loaded before a program whose GPUs shared memory does not reach, and leaves others alone.
. "$(dirname "$0")/broker.sh"
[ -z "${SAN:-}" ] || skip_all "a sanitized library must be loaded first, which rgpuctl does not do"
ctl=$BUILD/bin/rgpuctl
ours="$BUILD/bin/../lib/nccl/libnccl.so.2"
# nccl ARGUMENTS...: what is loaded before a program that is run so.
nccl() { env -u LD_PRELOAD RGPU_PROFILER=no "$ctl" run "$@" -- sh -c 'echo "${LD_PRELOAD:-none}"' 2>&1 | tail -n 1 || true; }

is "$(nccl --box 127.0.0.1:1)" none "a program with a box on its host is left alone"
is "$(nccl --box "unix:$TMP/box")" none "as is one that finds it by a socket"
is "$(nccl --box 127.0.0.1:1 --transport tcp)" "$ours" "unless its transport is another one"
is "$(nccl --box 192.0.2.1:1)" "$ours" "one with a box on another host gets ours"
is "$(nccl --box 127.0.0.1:1,127.0.0.1:2)" "$ours" "one with two gets ours"
is "$(nccl --box 127.0.0.1:1 --nccl own)" "$ours" "as does one that asks for it"
is "$(nccl --box 127.0.0.1:1,127.0.0.1:2 --nccl site)" none "and none that asks for the site's"
is "$(RGPU_NCCL=site nccl --box 127.0.0.1:1,127.0.0.1:2)" none "by a variable, too"
like "$(RGPU_NCCL=mine nccl --box 127.0.0.1:1)" 'RGPU_NCCL=mine is not one of auto, own, site' "whose word is checked"
is "$(LD_PRELOAD=/no/such "$ctl" run --box a:1,b:2 -- sh -c 'echo "$LD_PRELOAD"' 2>/dev/null | tr : '\n' | head -n 1)" "$ours" "what is preloaded already stays behind it"
like "$(LD_DEBUG=libs "$ctl" run --box 127.0.0.1:1 --nccl own -- true 2>&1)" 'nccl/libnccl.so.2' "the library is loaded"
unlike "$(LD_DEBUG=libs "$ctl" run --box 127.0.0.1:1 --nccl own -- true 2>&1)" 'calling init.*(librgpu|libcuda)' "and no driver with it"

start_broker
export RGPU_BROKER=$BROKER RGPU_BROKER_KEY=$TMP/admin.key
start_cuda_box box1 --devices sim:1
start_cuda_box box2 --devices sim:1
is "$(nccl -n 1)" none "a lease of one box"
is "$(nccl -n 2)" "$ours" "a lease that spans boxes"
is "$(nccl -n 2 --nccl site)" none "unless it is not wanted"
done_testing
