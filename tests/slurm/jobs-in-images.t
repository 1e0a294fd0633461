#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs that run their programs in users' images, of Debian 11 and 12 with NVIDIA's paths and variables, with the folders bound that
# the guide for jobs names (seconds: 600): with and without a user namespace, on a read-only root, and without /dev/shm. A driver of
# the image's own stays out of the way.
[ -n "${IN_PRIVATE:-}" ] || IN_PRIVATE=yes exec unshare --mount --propagation private "$0" "$@"
. "$(dirname "$0")/cluster.sh"
. "$TOP/tests/session/images.sh"
requires debootstrap bwrap
require_plugins
make_images
# Users may read the images there; what is in root's home they may not.
for version in "${!images[@]}"; do
    mkdir -p "$TMP/images/$version"
    mount --bind "${images[$version]}" "$TMP/images/$version"
    images[$version]=$TMP/images/$version
done
unmount_images() { for version in "${!images[@]}"; do umount "${images[$version]}"; done; }
start_pool_cluster
chmod -R a+rX "$TMP/programs" "$TMP/compat"
cat >"$TMP/share/in-image" <<'END'
#!/bin/sh
LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/compat RGPU_LOG=info exec "$@"
END
chmod 755 "$TMP/share/in-image"
runs() { # LABEL USER VERSION OPTION...: a job's program computes there
    local label="Debian $3: $1" user=$2 out status=0
    container "${@:3}" --ro-bind "$TMP/share" "$TMP/share" --ro-bind "$TMP/tickets" "$TMP/tickets" -- /usr/local/app/saxpy
    out=$(as "$user" srun --gres=rgpu:1 "$TMP/share/in-image" "${container[@]}" 2>&1 </dev/null) || status=$?
    is "$status" 0 "$label: a job computes"
    like "$out" "transport=shm" "$label: over shm"
    [ "$status" = 0 ] || diag "$(tail -n 8 <<<"$out")"
}
for version in 11 12; do
    runs "root's job" root $version --dev /dev
    runs "a user namespace" $ALICE $version --dev /dev "${own_users[@]}"
    runs "no /dev/shm" $ALICE $version --tmpfs /dev "${no_shm[@]}" "${own_users[@]}"
done
ok "all GPUs are back" await "no leases" no_leases
ok "no ticket is left" await "the end of the tickets" no_tickets
unmount_images
done_testing
