#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: sessions at once over verbs, of which half copy, whose queue pairs go to the error state before, inside and after
# messages of every kind, while the session's connections are cut in the opening and the reconnection. LANES, CUTS, OFTEN,
# CAMPAIGN_SECONDS and JOBS (shell words below $BUILD/tests/programs) lengthen it.
. "$TOP/tests/rdma/guest/common.sh"
read -ra programs <<<"${JOBS:-threads small-copies}"
export CUT_VERBS=$TMP/cuts
truncate -s 65544 "$CUT_VERBS"
chmod a+x "$TMP"
chmod a+rw "$CUT_VERBS"
LD_PRELOAD=$BUILD/tests/cut-verbs.so start_rdma_box --devices sim:2
jobs() {
    printf "exec $BUILD/tests/programs/%s\n" pinned small-copies
    echo
    printf "exec $BUILD/tests/programs/%s\n" "${programs[@]}"
}
campaign() {
    jobs | env VERBS="$BUILD/tests/cut-verbs.so" LD_LIBRARY_PATH="$BUILD/lib" RGPU_TRANSPORT=rdma RGPU_RDMA_ADDRESS="$RDMA_VM_ADDRESS_1" \
        OFTEN="${OFTEN:-400}" python3 -B "$TOP/tests/session/cut_campaign.py" "${LANES:-4}" "${CUTS:-20}" "${SEED:-1}" "$BOX" >"$TMP/table" 2>"$TMP/cutter"
}
ok "sessions over verbs that are cut find what they find undisturbed" campaign
sed 's/^/# /' "$TMP/table"
diag "$(grep -c 'is lost, the session waits' "$BOX_LOG") losses, $(grep -c 'continues over another connection' "$BOX_LOG") continued"
ok "the box serves the next one" over_rdma "$BUILD/tests/programs/saxpy"
done_testing
