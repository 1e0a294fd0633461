# SPDX-License-Identifier: BSD-3-Clause
# For tests of windows into virtual machines that need no machine: programs on the box's host get the window from the
# socket from which QEMU would get it. After lib.sh.
start_windowed_box() { # [rgpud arguments]
    WINDOWS=$(mktemp -d "$TMP/w.XXXX")
    chmod 0711 "$WINDOWS" "$TMP"
    ADMIN=$WINDOWS/admin
    start_box --client-sockets "$WINDOWS" --admin-socket "$ADMIN" "$@"
}
vm() { "$BUILD/bin/rgpuctl" vm "$@" --socket "$ADMIN"; }
# in_window NAME [VARIABLE=VALUE...] PROGRAM...: as if on the virtual machine NAME.
in_window() {
    local name=$1
    shift
    on_box RGPU_TRANSPORT=vm RGPU_LOG=info RGPU_VM_WINDOW="unix:$WINDOWS/vm-$name" "$@"
}
# window NAME MEMBER: a figure of `rgpuctl vm list`.
window() { vm list --json | sed -n "s/.*\"name\":\"$1\".*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }
has() { [ "$(window "$1" "$2")" = "$3" ]; }
