#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a guest kernel: Linux as User Mode Linux, from unmodified sources, statically linked. The kernel contains those
# objects of overrides.toml that kernels.toml lists for it.
#
#	guest/build.sh [--kernel NAME] [--without OVERRIDE] [--options "CONFIG_X=y ..."] [--leave-out] SOURCE BUILD OUT
#
# NAME      an entry of kernels.toml; by default "default"
# OVERRIDE  an override that is left out of the kernel, together with all overrides that need it (bench/overrides.py
#           builds such kernels to measure what an override saves)
# SOURCE    an unpacked kernel tree, which is not changed
# BUILD     a directory for the objects, about 150 MB; created if it does not exist, otherwise reused
# OUT       the directory for the results: linux, config, symbols.txt, and module-tree.tar.xz, against which modules are
#           compiled
#
# --leave-out is for a tree other than Debian's 6.12. Parts of leowarp that do not fit the tree are left out. Each part
# that is left out has a line in OUT/left-out.txt: name, tab, reason. The parts are:
#	objects		that do not compile against the tree, or that use a symbol which the tree does not have
#	options		of kernel.config that the tree does not know. Usually the code of such an option has become part
#			of every kernel, or was removed. The build fails in two cases: if a run without the option would
#			silently measure something else (virtual time, high-resolution timers, preemption), and if the
#			tree knows the option but does not accept it
# Without --leave-out, the build fails if any part does not fit.
#
# Needs gcc, make, flex, bison, bc, perl, python3 (3.11 or newer), xz and libc's static library.
set -eu

leave_out=no
kernel=default
without=""
further=""
while :; do
	case $1 in
	--leave-out) leave_out=yes ;;
	--kernel) kernel=$2; shift ;;
	--without) without=$2; shift ;;
	--options) further=$2; shift ;;
	*) break ;;
	esac
	shift
done
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd)
mkdir -p "$2" "$3"
build=$(cd "$2" && pwd)
out=$(cd "$3" && pwd)
jobs=${LEOWARP_JOBS:-$(nproc)}
assignments=$(python3 "$here/overrides.py" shell "$kernel" "$without")
eval "$assignments"

# Without these settings, the machine's user, host name and time would get into the kernel, and two builds would differ
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=leowarp KBUILD_BUILD_HOST=leowarp
export KBUILD_BUILD_VERSION=1 LC_ALL=C

# arch/um compiles code for any distance between addresses (-mcmodel=large), and without built-in functions. A static
# program at 0x60000000 needs neither restriction, so the flags below remove both. Together with -O3, this saves 7 % of
# a run's time (docs/performance.md). Modules are loaded far away from the program, so they are compiled with
# -mcmodel=large.
flags="-O3 -mcmodel=small -fbuiltin"
# The code that processes packets, timers and processes. This code takes 99 % of the guest kernel's time in a run
# (design/kernel-config.md). make gives leowarp's objects absolute names, and since 6.13 plain names, so the list
# matches both. All other code is compiled with -O1, because the compiler then takes a quarter less time. make expands
# this variable for each object.
hot="/% $hot_objects arch/% drivers/net/% kernel/irq/% kernel/sched/% \
	kernel/softirq.o kernel/time/% mm/page_alloc.o mm/slub.o lib/find_bit.o lib/iov_iter.o lib/rbtree.o lib/string.o \
	lib/timerqueue.o lib/win_minmax.o \
	net/socket.o net/core/datagram.o net/core/dev.o net/core/dst.o net/core/filter.o net/core/gro.o net/core/gso.o \
	net/core/neighbour.o net/core/skbuff.o net/core/sock.o net/core/stream.o net/ethernet/% net/ipv6/% net/mptcp/% \
	net/packet/% net/sched/% \
	net/ipv4/af_inet.o net/ipv4/arp.o net/ipv4/fib_frontend.o net/ipv4/fib_trie.o net/ipv4/inet_% net/ipv4/ip_% \
	net/ipv4/icmp.o net/ipv4/ping.o net/ipv4/raw.o net/ipv4/route.o net/ipv4/tcp% net/ipv4/udp%"
# Compiler flags that include leowarp's headers in objects of the kernel. make expands this variable for each object
included=""
kernel_make() {
	make -C "$source" ARCH=um O="$build" KBUILD_KCONFIG="$here/Kconfig.top" KCFLAGS="$flags" \
		CFLAGS_KERNEL="$included \$(if \$(filter $hot,\$@),,-O1)" CFLAGS_MODULE=-mcmodel=large -j"$jobs" "$@"
}
# of NAME FIELD: prints the field FIELD of the object NAME's entry in overrides.toml (guest/overrides.py)
of() {
	eval "echo \"\${$2_$(echo "$1" | tr . _)-}\""
}
# is_among NAME LIST...: whether NAME is in LIST
is_among() {
	wanted=$1
	shift
	case " $* " in *" $wanted "*) return 0 ;; esac
	return 1
}

# left_out NAME WHY: records that the object or option NAME is left out, with the reason WHY
left_out() {
	echo "leowarp: warning: left out: $1: $2"
	printf '%s\t%s\n' "$1" "$2" >> "$out/left-out.txt"
}
# Removes an object from $ours if the object that it needs is not in $ours. One pass is enough, because $ours is in the
# order of overrides.toml
leave_out_what_needs_others() {
	kept=""
	for object in $ours; do
		needed=$(of "${object%:*}" needs_of)
		case " $host_objects $kept" in
		*" ${needed:-none}:"*) ;;
		*) [ -z "$needed" ] || { left_out "${object%:*}" "it needs $needed, which is left out"; continue; } ;;
		esac
		kept="$kept $object"
	done
	ours=$kept
}
fail() {
	echo "leowarp: error: $1" >&2
	exit 1
}
: > "$out/left-out.txt"

echo "leowarp: configure"
(cat "$here/kernel.config" && printf '%s\n' $options $further) > "$build/wanted.config"
kernel_make KCONFIG_ALLCONFIG="$build/wanted.config" allnoconfig
lost=$(grep -oE '^CONFIG_[A-Z0-9_]+=.*' "$build/wanted.config" | while read -r option; do
	grep -qxF "$option" "$build/.config" || echo "$option"
done)
[ -z "$lost" ] || [ $leave_out = yes ] || fail "options of kernel.config that this kernel does not take: $(echo $lost)"
needed=""
for option in $lost; do
	name=${option%%=*}
	case $name in
	CONFIG_UML_TIME_TRAVEL_SUPPORT | CONFIG_HIGH_RES_TIMERS)
		needed="$needed $option"
		continue ;;
	CONFIG_PREEMPT_NONE)
		# Linux 7.x has at least voluntary preemption, which is enough: it interrupts no task of the kernel
		grep -qx CONFIG_PREEMPTION=y "$build/.config" || { left_out "$name" "this tree has no such choice"; continue; } ;;
	esac
	if grep -rqE --include='Kconfig*' "^[[:space:]]*(menu)?config ${name#CONFIG_}\$" "$source"; then
		needed="$needed $option"
	else
		left_out "$name" "this tree has no such option"
	fi
done
[ -z "$needed" ] || fail "options of kernel.config that this kernel does not take, and a run needs:$needed"

echo "leowarp: our objects"
# Some of leowarp's objects contain a copy of a kernel structure. The compiler would not notice if the tree declares the
# structure differently
python3 "$here/overrides.py" copies "$kernel" "$source" > "$build/copies.txt"
if [ -s "$build/copies.txt" ] && [ $leave_out = no ]; then
	fail "these objects would write into memory that is not theirs: $(cat "$build/copies.txt")"
fi
while IFS="$(printf '\t')" read -r name why; do
	left_out "$name" "$why"
done < "$build/copies.txt"
# is_wanted NAME: whether the object NAME was not refused above, and is not only for another version of Linux
is_wanted() {
	! grep -q "^$1	" "$build/copies.txt" && { [ $leave_out = no ] || ! is_among "$1" $only_6_12; }
}

# Only changed files are copied, so that unchanged files are not compiled again. With --leave-out, the tree may differ
# from the tree of the last build, so all objects of the last build are removed
[ $leave_out = no ] || rm -rf "$build/leowarp"
mkdir -p "$build/leowarp"
for file in "$build"/leowarp/*.[ch]; do
	ls "$here"/*/"${file##*/}" > /dev/null 2>&1 || rm -f "$file"
done
for file in "$here"/*/*.[ch]; do
	cmp -s "$file" "$build/leowarp/${file##*/}" || cp "$file" "$build/leowarp/"
done
python3 "$here/overrides.py" kbuild > "$build/leowarp/Kbuild"
ours=""
for object in $objects; do
	if is_wanted "${object%:*}"; then
		ours="$ours $object"
	fi
done

# include HEADER: makes the objects that overrides.toml lists for HEADER include it before anything else
include() {
	# The header is copied only if it has changed, because after a copy all objects that include it compile again
	cmp -s "$here/$(of "$1" parts_of)" "$build/$1" || cp "$here/$(of "$1" parts_of)" "$build/$1"
	flag="-include $build/$1"
	included="$included \$(if \$(filter $(of "$1" included_in),\$@),$flag)"
	for with in $(of "$1" included_with); do
		included="$included \$(if \$(filter ${with#*:},\$@),${with%:*})"
	done
}
# Headers are included before anything is compiled. Only a header that needs one of leowarp's objects is included later,
# after this object was compiled
for header in $headers; do
	if is_wanted "$header" && [ -z "$(of "$header" needs_of)" ]; then
		include "$header"
	fi
done

kernel_make prepare modules_prepare
# If leowarp's objects use static symbols of the kernel, these symbols are made global in the object file, not in the
# source. If leowarp's objects replace a function, the original gets a second name, so that the replacement can call it
globals=""
replaced=""
for object in $(printf '%s\n' $ours | sed 's/:.*//') $headers; do
	if is_wanted "$object"; then
		globals="$globals $(of "$object" globals_of)"
		replaced="$replaced $(of "$object" beside_of)"
	fi
done
for target in $(printf '%s\n' $globals $replaced | sed 's/:.*//' | sort -u); do
	kernel_make "$target"
	changes=""
	for global in $globals; do
		[ "${global%:*}" != "$target" ] || changes="$changes --globalize-symbol=${global#*:}"
	done
	for function in $replaced; do
		instead=${function#*:}
		if [ "${function%:*}" = "$target" ] && ! nm "$build/$target" | grep -q " leowarp_kernels_$instead\$"; then
			address=$(nm "$build/$target" | sed -n "s/ T $instead\$//p")
			changes="$changes --weaken-symbol=$instead"
			changes="$changes --add-symbol leowarp_kernels_$instead=.text:0x$address,function,global"
		fi
	done
	objcopy $changes "$build/$target"
done
# Without any of leowarp's objects, there is nothing to compile here
[ -z "$ours" ] || kernel_make -k M="$build/leowarp" $(printf '%s.o ' $(printf '%s\n' $ours | sed 's/:.*//')) ||
	[ $leave_out = yes ]
fitting=""
for object in $ours; do
	name=${object%:*}
	if [ -f "$build/leowarp/$name.o" ]; then
		fitting="$fitting $object"
		continue
	fi
	why=$(kernel_make M="$build/leowarp" "$name.o" 2>&1 | grep -m 1 -E 'error: |Error ') || true
	left_out "$name" "$(echo "$why" | sed "s|$build/leowarp/||g; s|$source/||g; s|$build/||g")"
done
ours=$fitting
leave_out_what_needs_others
for object in $host_objects; do
	name=${object%:*}
	gcc -O2 -Wall -Wextra -Werror -fno-pic -fno-stack-protector -c -o "$build/leowarp/$name.o" "$build/leowarp/$name.c"
done

for header in $headers; do
	needed=$(of "$header" needs_of)
	case $ours in
	*" ${needed:-none}:"*) include "$header" ;;
	esac
done

echo "leowarp: compile and link"
rm -f "$build/vmlinux" "$build/vmlinux.unstripped" "$build/linux"
if [ $leave_out = yes ]; then
	# An object is left out if it uses a symbol that neither the tree nor another of leowarp's objects defines,
	# because linking would fail
	kernel_make vmlinux_o
	(nm -g "$build/vmlinux.o" && nm -g --defined-only "$build"/leowarp/*.o) | sed 's/.* //' | sort -u > "$build/known.txt"
	fitting=""
	for object in $ours; do
		name=${object%:*}
		missing=$(nm -u "$build/leowarp/$name.o" | sed 's/.* //; s/^__real_//' | sort -u | comm -23 - "$build/known.txt")
		[ -z "$missing" ] && fitting="$fitting $object" && continue
		left_out "$name" "this tree does not have "$missing
	done
	ours=$fitting
	leave_out_what_needs_others
fi
wraps=""
for object in $ours $host_objects; do
	for function in $(of "${object%:*}" wraps_of); do
		wraps="$wraps -Wl,--wrap,$function"
	done
done
# arch/um wraps malloc, free and calloc; the wraps of leowarp's objects follow
kernel_make LINK_WRAPS="-Wl,--wrap,malloc -Wl,--wrap,free -Wl,--wrap,calloc $wraps \
	$(printf "$build/leowarp/%s.o " $(printf '%s\n' $host_objects $ours | sed 's/:.*//'))" linux modules

if [ $leave_out = no ] && is_among draws.h $headers; then
	astray=$(cd "$build" && nm -A -u $(find net/core net/ipv4 net/ipv6 net/mptcp net/sched -maxdepth 1 -name '*.o' 2>/dev/null) | grep -E ' (__)?get_random_' |
		grep -v '^[^:]*/built-in' | sed 's/:.*//' | sort -u)
	[ -z "$astray" ] || fail "these draw from the kernel's common stream; name them in the entry draws.h of overrides.toml: $(echo $astray)"
fi
nm "$build/linux" > "$build/all-symbols.txt"
for symbol in time_travel_time init_task cpu_tasks $(printf '%s\n' $host_objects $ours | sed 's/.*://'); do
	grep -E " $symbol\$" "$build/all-symbols.txt" || fail "$symbol is not in the kernel"
done > "$build/symbols.txt"
for header in $headers; do
	case $included in *"$build/$header"*) echo "$header" ;; esac
done > "$out/overrides.txt"
printf '%s\n' $host_objects $ours | sed 's/:.*//' >> "$out/overrides.txt"
cp "$build/.config" "$out/config"
cp "$build/symbols.txt" "$out/symbols.txt"
strip -s -o "$out/linux" "$build/linux"
echo "leowarp: pack"
sh "$here/module/pack.sh" "$source" "$build" "$flags" "$out/module-tree.tar.xz"
echo "leowarp: done"
