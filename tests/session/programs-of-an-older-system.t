#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# seconds: 1200
# Programs that were compiled on Debian 11, with its C library (2.31) and its compiler, run there with the client library of
# this build, as users' old container images and nodes of Enterprise Linux 8 need it. The box runs on this system.
. "$(dirname "$0")/../pages/machines.sh"
. "$TOP/tests/session/programs.sh"
requires debootstrap unshare
[ "$(id -u)" = 0 ] || skip_all "only root can change the root directory"
[ -z "${SAN:-}" ] || skip_all "sanitizers need this system's own C library"
RELEASE=bullseye
build_machine older gcc libc6-dev libjansson4 libsmartcols1 libmunge2 libinih1
export MACHINE_older
mkdir "$TMP/programs"
chmod a+x "$TMP"

# older COMMAND...: runs it in the older system, which has this tree, its build and the test's files at their places.
cat >"$TMP/older" <<'END'
#!/bin/bash
exec unshare --mount --propagation private bash -c '
root=$1; shift
for path in /proc /dev; do mount --rbind "$path" "$root$path"; done
mount -t tmpfs tmp "$root/tmp"; mount -t tmpfs -o mode=755 run "$root/run"
for path in "$TOP" "$BUILD" "$TMP"; do mkdir -p "$root$path"; mount --bind "$path" "$root$path"; done
exec chroot "$root" "$@"' older "$MACHINE_older" "$@"
END
chmod +x "$TMP/older"
export TOP BUILD TMP

is "$("$TMP/older" /lib/x86_64-linux-gnu/libc.so.6 | sed -n 's/.*GLIBC \([0-9.]*\)-.*/\1/p')" 2.31 "the older system has the C library of Debian 11"
is "$("$TMP/older" "$BUILD/bin/rgpuctl" --version)" "$("$BUILD/bin/rgpuctl" --version)" "rgpuctl runs there"
compile='cd "$TOP"; for source in tests/programs/*.c; do echo "${source##*/}"; done |
    xargs -P 2 -I NAME sh -c "gcc -D_GNU_SOURCE -std=gnu11 -O1 -pthread -I. -I$BUILD/gen -o $TMP/programs/\$(basename NAME .c) \
        tests/programs/NAME -L$BUILD/lib -l:libcuda.so.1 -lm -ldl"'
ok "the programs are compiled there" "$TMP/older" sh -c "$compile"
export RGPU_SIM_STALE=crash
start_box
for transport in tcp shm; do
    run=(on_box RGPU_TRANSPORT=$transport "$TMP/older")
    for program in "$TMP"/programs/*; do
        name=${program##*/}
        case $name in exits | idle | endure | commanded) continue ;; esac
        run_program "over $transport: $name" "$program"
    done
done

# The other libraries that are loaded into programs.
cat >"$TMP/programs.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!dlopen(argv[i], RTLD_NOW))
            return printf("%s\n", dlerror()), 1;
    return 0;
}
END
"$TMP/older" sh -c 'gcc -o "$TMP/loads" "$TMP/programs.c" -ldl'
for library in libnvidia-ml.so.1 librgpu.so.1 nccl/libnccl.so.2 libcupti.so.12 libcupti.so.13 slurm/rgpu_step.so; do
    [ -e "$BUILD/lib/$library" ] || continue
    ok "$library is loaded there" on_box "$TMP/older" "$TMP/loads" "$BUILD/lib/$library"
done
done_testing
