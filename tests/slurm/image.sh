# SPDX-License-Identifier: GPL-2.0-or-later
# make_image DIRECTORY PROGRAM...: a site's image for jobs in virtual machines, DIRECTORY/image, with the client library and these
# programs in /opt, and the kernel and initrd that start it. What it does at its start is what config/vm/slurm-job.sh asks for.
image_modules=(virtio_pci virtio_blk ext4 crc32c_generic virtio_net 9p 9pnet_virtio)

with_libraries() { # ROOT FILE...
    local root=$1 file
    shift
    for file; do ldd "$file"; done | grep -o '/[^ ]*' | grep -v /libcuda | sort -u | while read -r file; do
        [ -e "$root$file" ] || install -D "$file" "$root$file"
    done
}

make_initrd() { # DIRECTORY KERNEL
    mkdir "$1/initrd.d"
    cat >"$1/init" <<'END'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "$module"; done </modules
$b mkdir /root
$b mount -t ext4 -o ro /dev/vda /root
for mounted in proc sys dev; do $b mount -o move /$mounted /root/$mounted; done
exec $b switch_root /root /sbin/init
END
    "$TOP/scripts/vm-initramfs" "$1/initrd.d" "$2" "$1/init" "${image_modules[@]}" >"$1/initrd"
}

make_image() {
    local directory=$1 kernel root=$1/image.d
    shift
    kernel=$("$TOP/scripts/rdma-vm" --print-kernel) || return
    mkdir -p "$root"/{proc,sys,dev,tmp,run,bin,sbin,opt,mnt}
    cp "$(command -v busybox)" "$root/bin/busybox"
    ln -s busybox "$root/bin/sh"
    cp /bin/bash "$(command -v setpriv)" "$root/bin/"
    cp "$BUILD/lib/libcuda.so.1" "$@" "$root/opt/"
    with_libraries "$root" "$root"/bin/{bash,setpriv} "$BUILD/lib/libcuda.so.1" "$@"
    cat >"$root/sbin/init" <<'END'
#!/bin/bash
PATH=/bin:/sbin
for tool in mount mkdir ip cat stat chown poweroff sync; do eval "$tool() { busybox $tool \"\$@\"; }"; done
share() { # TAG DIRECTORY
    mkdir -p "$2"
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=131072 "$1" "$2"
}
for scratch in tmp run mnt; do mount -t tmpfs "$scratch" "/$scratch"; done
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
ip link set lo up
for eth in /sys/class/net/e*; do
    ip addr add 10.0.2.15/24 dev "${eth##*/}"
    ip link set "${eth##*/}" up
done
share job /run/job
# The directories that are handed in have the names that they have on the host.
while read -r tag directory; do share "$tag" "$directory"; done </run/job/mounts
# The job's user, who owns the share, may use the window, as 60-rgpu-vm.rules has it for a group.
user=$(stat -c %u /run/job)
for device in /sys/bus/pci/devices/*; do
    [ "$(cat "$device/vendor" "$device/device")" != "$(printf '0x1af4\n0x1110')" ] || chown "$user" "$device"/resource[02]
done
setpriv --reuid "$user" --clear-groups bash -c '. /run/job/environment; export LD_LIBRARY_PATH=/opt; . /run/job/command'
echo $? >/run/job/status
sync
poweroff -f
END
    chmod 755 "$root/sbin/init"
    PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -d "$root" -L image "$directory/image" 96M >/dev/null || return
    make_initrd "$directory" "$kernel" || return
    cp "$kernel"/boot/vmlinuz-* "$directory/kernel"
    rm -rf "$root" "$directory"/{initrd.d,init}
    chmod 644 "$directory"/{image,initrd,kernel}
}
