#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A client in a container that has nothing of the host but the directory of the box's sockets, mounted into it, gets
# shared memory: with network, processes, System V, users and files of its own. Without the directory it is told what to
# do.
. "$(dirname "$0")/../lib.sh"
requires bwrap
sockets=$TMP/s
mkdir -m 0711 "$sockets"
start_box --client-sockets "$sockets" --listen "127.0.0.1:0,unix:$sockets/box"

# bubble COMMAND...: another user of a user namespace of its own, no network, a read-only root and no rights; what is
# in $mounts of the host besides.
mounts=()
bubble() {
    bwrap --unshare-all --uid 1234 --gid 1234 --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run \
        --ro-bind "$BUILD" "$BUILD" "${mounts[@]}" --cap-drop ALL --hostname elsewhere --chdir / "$@"
}
bubble true 2>"$TMP/err" || skip_all "no right to make containers here: $(cat "$TMP/err")"
inside() { # PROGRAM: its output to $TMP/out
    local status=0
    bubble --setenv LD_LIBRARY_PATH "$BUILD/lib" --setenv RGPU_LOG info --setenv RGPU_BOXES unix:/run/rgpu-clients/box \
        --unsetenv RGPU_CLIENT_SOCKETS "$BUILD/tests/programs/$1" >"$TMP/out" 2>&1 </dev/null || status=$?
    return $status
}
mounts=(--ro-bind "$sockets" /run/rgpu-clients)
for program in saxpy pinned copies registered sharing; do
    status=0
    inside $program || status=$?
    is $status 0 "$program computes in a container with a network of its own"
    [ $status = 0 ] || diag "$(tail -n 20 "$TMP/out")"
    like "$(cat "$TMP/out")" 'transport=shm' "$program: over shared memory"
done

mkdir "$TMP/other"
mounts=(--ro-bind "$sockets" /run/elsewhere --setenv RGPU_BOXES unix:/run/elsewhere/box)
outside() {
    bubble --setenv LD_LIBRARY_PATH "$BUILD/lib" --setenv RGPU_LOG info "$@" "$BUILD/tests/programs/saxpy" \
        >"$TMP/out" 2>&1 </dev/null
}
ok "without the directory the program runs" outside
like "$(cat "$TMP/out")" 'transport=tcp .*another network namespace, and not reached by /run/rgpu-clients: No such file' \
    "over the connection that there is, and says why"
ok "where the directory lies elsewhere" outside --setenv RGPU_CLIENT_SOCKETS /run/elsewhere
like "$(cat "$TMP/out")" 'transport=shm' "it is named by a variable"
fails "shared memory that is asked for and cannot be had" outside --setenv RGPU_TRANSPORT shm
like "$(cat "$TMP/out")" 'not reached by /run/rgpu-clients' "is refused with the reason"

# ---- Podman, with its own filter of system calls ----

in_podman() {
    podman --runtime runc run --rm --network none --user 1234:1234 --read-only --read-only-tmpfs=false \
        --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --volume "$sockets:/run/rgpu-clients:ro" \
        --env LD_LIBRARY_PATH="$BUILD/lib" --env RGPU_LOG=info --env RGPU_BOXES=unix:/run/rgpu-clients/box \
        --rootfs /:O "$@" >"$TMP/out" 2>&1 </dev/null
}
if ! command -v podman >/dev/null || ! in_podman true; then
    skip "Podman does not run here: $(tail -n 1 "$TMP/out")"
else
    like "$(in_podman grep -E 'Seccomp:|^Uid:' /proc/self/status; cat "$TMP/out")" 'Seccomp:[[:space:]]2' "Podman filters system calls"
    for program in saxpy pinned; do
        ok "$program computes in Podman" in_podman "$BUILD/tests/programs/$program"
        like "$(cat "$TMP/out")" 'transport=shm' "$program: over shared memory"
    done
    # As a device of the Container Device Interface: libraries where the image's loader looks, without a variable.
    mkdir "$TMP/cdi"
    RGPU_CLIENT_SOCKETS=$sockets "$BUILD/bin/rgpuctl" cdi generate >"$TMP/cdi/rgpu.json"
    by_device() { # DEVICE COMMAND...
        unshare --mount --propagation private bash -c 'mount -t tmpfs run /run && mkdir /run/cdi && mount --bind "$1" /run/cdi && exec "${@:2}"' \
            by_device "$TMP/cdi" podman --runtime runc run --rm --network none ${user:+--user $user} --read-only --read-only-tmpfs=false \
            --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --env RGPU_LOG=info --device "$1" --rootfs /:O "${@:2}" \
            >"$TMP/out" 2>&1 </dev/null
    }
    user=1234:1234
    if ! by_device rgpu/box=all true; then
        skip "Podman has no Container Device Interface here: $(tail -n 1 "$TMP/out")"
    else
        ok "a program computes in Podman with --device rgpu/box=all" by_device rgpu/box=all "$BUILD/tests/programs/saxpy"
        like "$(cat "$TMP/out")" 'transport=shm' "over shared memory"
        ok "its loader finds the libraries by itself" by_device rgpu/box=all sh -c 'test -z "$LD_LIBRARY_PATH"; ldd "$1"' sh "$BUILD/tests/programs/saxpy"
        like "$(cat "$TMP/out")" 'libcuda.so.1 => /(usr/)?lib' "where those of the system are"
        ok "also where the image's variable names other folders, as NVIDIA's do" by_device rgpu/box=all \
            env LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64 "$BUILD/tests/programs/saxpy"
        # A lease: a box that asks for tickets.
        printf 'k1 %064d\n' 7 >"$TMP/box.key"
        chmod 600 "$TMP/box.key"
        standalone=$BOX_PID
        start_box --name leased --auth ticket --key-file "$TMP/box.key" --admin-socket "$TMP/admin" --devices sim:1 --client-sockets "$sockets" \
            --listen "127.0.0.1:0,unix:$sockets/leased"
        gpu=$("$BUILD/bin/rgpuctl" devices --socket "$TMP/admin" --json 2>/dev/null | sed -n 's/.*"uuid":"\([^"]*\)".*/\1/p')
        "$BUILD/tests/issue-ticket" "$TMP/box.key" unix:/run/rgpu-clients/leased leased 3600 lease=L1 "$gpu" >"$TMP/ticket"
        fails "a ticket that others can read describes nothing" env RGPU_TICKET_FILE="$TMP/ticket" "$BUILD/bin/rgpuctl" cdi generate
        chmod 600 "$TMP/ticket"
        ok "a lease is described" env RGPU_TICKET_FILE="$TMP/ticket" RGPU_CLIENT_SOCKETS="$sockets" "$BUILD/bin/rgpuctl" cdi generate
        cp "$TMP/ok.out" "$TMP/cdi/lease.json"
        is "$(RGPU_TICKET_FILE=$TMP/ticket "$BUILD/bin/rgpuctl" cdi name) $("$BUILD/bin/rgpuctl" cdi name)" "rgpu/lease=L1 rgpu/box=all" "with its name"
        user=
        ok "a program computes with --device rgpu/lease=L1" by_device rgpu/lease=L1 "$BUILD/tests/programs/saxpy"
        like "$(cat "$TMP/out")" 'transport=shm' "over shared memory"
        fails "and with the other device the box asks for a ticket" by_device rgpu/box=all env RGPU_BOXES=unix:/run/rgpu-clients/leased \
            "$BUILD/tests/programs/saxpy"
        stop "$BOX_PID"
        BOX_PID=$standalone
    fi
fi

# ---- what is left in the directory ----

names() { find "$sockets" -name '*rgpu-*' -printf '%f\n' | sort; }
with_worker() { # waits until each name belongs to a living worker, and there is one
    local name
    for name in $(names); do
        [[ $name =~ ^rgpu-([0-9]+)- ]] && kill -0 "${BASH_REMATCH[1]}" 2>/dev/null || return 1
    done
    [ -n "$(names)" ]
}
await "each socket belongs to a worker" with_worker
pass "workers that are gone leave no sockets"
is "$(find "$sockets" -name 'rgpu-*' ! -perm 0666)" "" "every user may connect to those that there are"
kill -KILL "$BOX_PID"
gone() { ! kill -0 "$BOX_PID" 2>/dev/null; }
await "the box to end" gone
unheard() { # until the workers of the killed box are gone, too
    local name
    for name in $(names); do
        [[ $name =~ ^rgpu-([0-9]+)- ]] && kill -0 "${BASH_REMATCH[1]}" 2>/dev/null && return 1
    done
    return 0
}
await "its workers to end" unheard
before=$(names)
like "$before" "^rgpu-" "a box that is killed leaves some"
start_box --client-sockets "$sockets"
left() { comm -12 <(echo "$before") <(names); }
is "$(left)" "" "which the next one removes"
kill -TERM "$BOX_PID"
await "the box to end" gone
is "$(names)" "" "a box that ends leaves none"

# ---- settings ----

for path in relative "/$(printf 'x%.0s' {1..60})"; do
    fails "client_sockets = ${path:0:12}" "$BUILD/bin/rgpud" --standalone --devices sim:1 --listen 127.0.0.1:0 \
        --client-sockets "$path"
    like "$(cat "$TMP/ok.out")" 'client_sockets=.* is not an absolute path of at most' "is refused with the reason"
done
touch "$TMP/file"
start_box --client-sockets "$TMP/file"
logs "$BOX_LOG" "client_sockets=$TMP/file error=" "a directory that cannot be used is named"
ok "and the box serves all the same" on_box "$BUILD/tests/programs/saxpy"
done_testing
