#!/bin/sh
# The first process of a kernel that control-groups.test.ts has started, with the files of the machine. Prints the findings of the
# guest between two marks.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /mnt
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
# As a service manager delegates it: the group has what its parent allows, and its processes are those of the service.
echo '+memory +cpu' > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/drover
cd "$(dirname "$0")/../.." || exit 1
"$GUEST_NODE" test/stress/control-groups-guest.mjs
poweroff -f
