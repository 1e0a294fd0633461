#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 900
# Users' images: roots of Debian 11 and 12 with NVIDIA's paths and variables as its base images have them, in which programs
# find the client library as `rgpuctl run` and the Container Device Interface give it: with and without a user namespace, on read-only
# roots, and without /dev/shm. A driver of the image's own, as in /usr/local/cuda/compat, stays out of the way.
. "$(dirname "$0")/../lib.sh"
. "$TOP/tests/session/images.sh"
requires debootstrap unshare bwrap
[ "$(id -u)" = 0 ] || skip_all "only root can make the roots of images"
[ -z "${SAN:-}${VALGRIND:-}" ] || skip_all "sanitizers need this system's own C library"
sockets=$TMP/s
mkdir -m 0711 "$sockets"
chmod a+x "$TMP"
start_box --client-sockets "$sockets" --listen "127.0.0.1:0,unix:$sockets/box"
make_images
mkdir -m 755 "$TMP/lib"
cp "$BUILD/lib/libcuda.so.1" "$TMP/lib"
image() { # VERSION OPTION... -- COMMAND...
    container "$1" --ro-bind "$TMP/lib" /opt --ro-bind "$sockets" /run/rgpu-clients "${@:2}"
    "${container[@]}"
}
library=(--setenv LD_LIBRARY_PATH /opt:/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/compat --setenv RGPU_LOG info)
image 12 --dev /dev "${own_users[@]}" -- true 2>"$TMP/err" || skip_all "no right to make containers here: $(cat "$TMP/err")"
runs() { # LABEL TRANSPORT VERSION OPTION...: the program computes there over this transport
    local label="Debian $3: $1" transport=$2 status=0
    image "${@:3}" "${library[@]}" -- /usr/local/app/saxpy >"$TMP/out" 2>&1 </dev/null || status=$?
    is "$status" 0 "$label: a program computes"
    like "$(cat "$TMP/out")" "transport=$transport" "$label: over $transport"
    [ "$status" = 0 ] || diag "$(tail -n 8 "$TMP/out")"
}
for version in 11 12; do
    like "$(image $version --dev /dev --setenv LD_LIBRARY_PATH /usr/local/cuda/compat -- /usr/local/app/saxpy 2>&1 || true)" \
        'undefined symbol: cu' "Debian $version: alone, the program meets the image's own driver"
    runs "as root of the host" shm $version --dev /dev --setenv RGPU_BOXES "$BOX"
    runs "a user namespace" shm $version --dev /dev "${own_users[@]}" --setenv RGPU_BOXES "$BOX"
    runs "all namespaces" shm $version --dev /dev --unshare-all "${own_users[@]}" --setenv RGPU_BOXES unix:/run/rgpu-clients/box
    runs "no /dev/shm" shm $version --tmpfs /dev "${no_shm[@]}" "${own_users[@]}" --setenv RGPU_BOXES "$BOX"
done

# ---- by rgpuctl run, from outside ----
mapfile -t folders < <(image_folders 11)
out=$("$BUILD/bin/rgpuctl" run --box "$BOX" -- bwrap "${folders[@]}" --dev /dev --ro-bind "$TMP/programs" /app --ro-bind "$BUILD" "$BUILD" \
    /app/saxpy 2>&1) && status=0 || status=$?
is "$status" 0 "rgpuctl run hands its environment to a container's program"
[ "$status" = 0 ] || diag "$out"
done_testing
