# SPDX-License-Identifier: BSD-3-Clause
# A box with tickets between RDMA devices, on a kernel that can encrypt.
. "$(dirname "$0")/common.sh"
. "$TOP/tests/session/tickets.sh"
MARK=this-text-must-not-be-seen-on-the-way.

start_ticket_box --listen "$RDMA_VM_ADDRESS_0:0" --transports tcp,rdma \
    --rdma-addresses "$RDMA_VM_ADDRESS_0" --handshake-timeout 120s
copied() { # copied [NAME=value...]: copies there and back; what the client says is in $TMP/err
    with_ticket "$(ticket_for "$BOX")" RGPU_LOG=info RGPU_CONNECT_TIMEOUT=60s \
        RGPU_RDMA_ADDRESS="$RDMA_VM_ADDRESS_1" "$@" "$BUILD/tests/copy-pattern" $MARK 2>"$TMP/err" || true
}
is "$(copied RGPU_TRANSPORT=rdma)" copied "after a login by ticket a session goes over verbs"
like "$(cat "$TMP/err")" 'protection=authenticate transport=rdma' "with its data as they are"
is "$(copied RGPU_PROTECTION=privacy)" copied "a session with privacy copies, too"
like "$(cat "$TMP/err")" 'protection=privacy transport=tcp reason=".*no rdma: protection=privacy, and RDMA sends data as they are' \
    "over tcp, and the reason is told"
logs "$BOX_LOG" 'no rdma reason="protection=privacy' "on both sides"
logs "$BOX_LOG" 'data are encrypted by=kernel' "where the kernel can, it encrypts"
done_testing
