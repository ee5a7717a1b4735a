#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the guest kernel: Linux as User Mode Linux, unpatched, statically linked, with objects of ours added at
# the link: seed.c (the random seed comes from the environment), rseq.c (a quirk of glibc), ptrace.c (hosts with more
# registers than the kernel expects), clock/clock.c (time to the nanosecond), qdisc/leolink.c (the link model),
# cc/bbr_handover.c and cc/cubic_handover.c (congestion controls), ulp/delack.c (delayed ACKs).
#
#	guest/build.sh SOURCE BUILD OUT
#
# SOURCE  an unpacked kernel tree of 6.12 (left as it is)
# BUILD   a directory for the objects, about 150 MB; made if it is not there, reused if it is
# OUT     where linux, config, symbols.txt are put, and module-tree.tar.xz, against which modules are compiled
#
# Needs gcc, make, flex, bison, bc, perl, xz and libc's static library.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
mkdir -p "$2" "$3"
build=$(cd "$2" && pwd)
out=$(cd "$3" && pwd)
jobs=${LEOWARP_JOBS:-$(nproc)}

# What would find its way into the kernel and differs between machines and days
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=leowarp KBUILD_BUILD_HOST=leowarp
export KBUILD_BUILD_VERSION=1 LC_ALL=C

# arch/um compiles for any distance and without built-in functions; a static program at 0x60000000 needs neither. With -O3
# the three save 7 % of a run (docs/performance.md). Modules are loaded far away.
flags="-O3 -mcmodel=small -fbuiltin"
kernel_make() {
	make -C "$source" ARCH=um O="$build" KBUILD_KCONFIG="$here/Kconfig.top" KCFLAGS="$flags" \
		CFLAGS_MODULE=-mcmodel=large -j"$jobs" "$@"
}

echo "leowarp: configure"
kernel_make KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig
lost=$(grep -oE '^CONFIG_[A-Z0-9_]+=.*' "$here/kernel.config" | while read -r option; do
	grep -qxF "$option" "$build/.config" || echo "$option"
done)
if [ -n "$lost" ]; then
	echo "leowarp: error: options of kernel.config that this kernel does not take:" $lost >&2
	exit 1
fi

echo "leowarp: our objects"
kernel_make prepare modules_prepare
# Our clock and leolink use what is static in time.c: the symbols are made global in the object, not in the source
kernel_make arch/um/kernel/time.o
objcopy --globalize-symbol=time_travel_time --globalize-symbol=timer_clockevent "$build/arch/um/kernel/time.o"
mkdir -p "$build/leowarp"
cp "$here/Kbuild" "$here"/*/*.[ch] "$build/leowarp/"
ours="clock leolink bbr_handover cubic_handover delack"
kernel_make M="$build/leowarp" $(printf '%s.o ' $ours)
for part in seed rseq ptrace; do
	gcc -O2 -Wall -Wextra -Werror -fno-pic -fno-stack-protector -c -o "$build/leowarp/$part.o" "$here/$part.c"
done

echo "leowarp: compile and link"
rm -f "$build/vmlinux" "$build/linux"
kernel_make LINK_WRAPS="-Wl,--wrap,malloc -Wl,--wrap,free -Wl,--wrap,calloc -Wl,--wrap,getrandom \
	-Wl,--wrap,ptrace $(printf "$build/leowarp/%s.o " seed rseq ptrace $ours)" linux modules

nm "$build/linux" | grep -E ' (time_travel_time|init_task|cpu_tasks|__wrap_getrandom|__wrap_ptrace|clock_register|leolink_register|bbr_handover_main|cubic_handover_ssthresh|delack_register)$' \
	> "$build/symbols.txt"
[ "$(wc -l < "$build/symbols.txt")" = 10 ] || { echo "leowarp: error: our objects are not in the kernel" >&2; exit 1; }
cp "$build/.config" "$out/config"
cp "$build/symbols.txt" "$out/symbols.txt"
strip -s -o "$out/linux" "$build/linux"
sh "$here/module/pack.sh" "$source" "$build" "$flags" "$out/module-tree.tar.xz"
echo "leowarp: done"
