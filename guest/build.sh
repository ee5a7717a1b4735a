#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the guest kernel: Linux as User Mode Linux, unpatched, statically linked, with objects of ours added at
# the link: seed.c (the random seed comes from the environment), rseq.c (a quirk of glibc), ptrace.c (hosts with more
# registers than the kernel expects, and fewer requests to the host) with registers/owed.c, clock/clock.c (time to the
# nanosecond), clock/polling.c (what a program's call takes), clock/turns.c (kernel loops that wait for another
# task), qdisc/leolink_*.c (the link model), cc/bbr_handover.c and cc/cubic_handover.c (congestion controls), ulp/delack.c
# (delayed ACKs), tcp/loss_*.c (ways to find losses), draws/ (random numbers), netns/routers.c (namespaces of nodes that
# only pass packets on), tap/taps.c (what passes hosts' interfaces), tcp/payload.c (what bulk transfers send is not
# copied), tcp/sockets.c (samples of sockets), pages/ahead.c (a process gets its memory four pages at a time),
# faults/where.c (a fault in the kernel prints where it happened); what a run
# must not leave to the next: sched/lag.c (what the scheduler owes), tcp/memory.c (memory that is not counted yet); and two
# headers: irqs/irqflags.h in place of the kernel's own (interrupts masked without a call), and skbs/kept.h before
# net/core/skbuff.c (freed packets are kept for the next).
#
#	guest/build.sh [--leave-out] SOURCE BUILD OUT
#
# SOURCE  an unpacked kernel tree (left as it is)
# BUILD   a directory for the objects, about 150 MB; made if it is not there, reused if it is
# OUT     where linux, config, symbols.txt are put, and module-tree.tar.xz, against which modules are compiled
#
# --leave-out is for a tree other than Debian's 6.12. What of ours does not fit it is left out, with a line in
# OUT/left-out.txt (name, tab, why) for each:
#	objects		that do not compile against it, or use a symbol that it does not have
#	options		of kernel.config that it does not know: mostly their code has become part of every kernel, or has been
#			removed. The build fails where a run would measure something else without a word (virtual time,
#			high-resolution timers, preemption), and for an option that the tree knows and does not take
# Without --leave-out everything has to fit.
#
# Needs gcc, make, flex, bison, bc, perl, xz and libc's static library.
set -eu

leave_out=no
if [ "$1" = --leave-out ]; then
	leave_out=yes
	shift
fi
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
# What meets packets, timers and processes: 99 % of the guest kernel's time in a run (design/kernel-config.md); ours have
# absolute names, or from 6.13 on their own. All else is compiled with -O1, which takes a quarter less time. Make expands
# it for each object.
hot="/% clock.o draws.o leolink% taps.o payload.o bbr_handover.o cubic_handover.o delack.o loss_% arch/% drivers/net/% kernel/irq/% kernel/sched/% \
	kernel/softirq.o kernel/time/% mm/page_alloc.o mm/slub.o lib/find_bit.o lib/iov_iter.o lib/rbtree.o lib/string.o \
	lib/timerqueue.o lib/win_minmax.o \
	net/socket.o net/core/datagram.o net/core/dev.o net/core/dst.o net/core/filter.o net/core/gro.o net/core/gso.o \
	net/core/neighbour.o net/core/skbuff.o net/core/sock.o net/core/stream.o net/ethernet/% net/packet/% net/sched/% \
	net/ipv4/af_inet.o net/ipv4/arp.o net/ipv4/fib_frontend.o net/ipv4/fib_trie.o net/ipv4/inet_% net/ipv4/ip_% \
	net/ipv4/icmp.o net/ipv4/ping.o net/ipv4/raw.o net/ipv4/route.o net/ipv4/tcp% net/ipv4/udp%"
# What draws random numbers from a stream of its own (design/draws.md): all that draws in net/core, net/ipv4 and net/sched,
# and what gives each program its first. Some draw for a connection
drawing="fs/binfmt_elf.o net/core/flow_dissector.o net/core/neighbour.o net/core/net_namespace.o net/core/secure_seq.o \
	net/core/sock.o net/core/stream.o net/ipv4/datagram.o net/ipv4/icmp.o net/ipv4/inet_connection_sock.o \
	net/ipv4/inet_hashtables.o net/ipv4/inetpeer.o net/ipv4/ip_output.o net/ipv4/route.o net/ipv4/sysctl_net_ipv4.o \
	net/ipv4/tcp_bbr.o net/ipv4/tcp_cdg.o net/ipv4/tcp_fastopen.o net/ipv4/tcp_input.o net/ipv4/tcp_ipv4.o \
	net/ipv4/tcp_nv.o net/ipv4/tcp_output.o net/ipv4/tcp_plb.o net/ipv4/tcp_timer.o net/ipv4/udp.o net/sched/sch_cake.o \
	net/sched/sch_netem.o net/sched/sch_pie.o net/sched/sch_red.o net/sched/sch_sfq.o"
drawing_of_connection="net/ipv4/tcp_bbr.o net/ipv4/tcp_cdg.o net/ipv4/tcp_nv.o"
irqflags=""
kept=""
kernel_make() {
	make -C "$source" ARCH=um O="$build" KBUILD_KCONFIG="$here/Kconfig.top" KCFLAGS="$flags" \
		CFLAGS_KERNEL="$irqflags \$(if \$(filter net/core/skbuff.o,\$@),$kept) \$(if \$(filter $hot,\$@),,-O1) \
			\$(if \$(filter $drawing,\$@),-include $build/draws.h) \$(if \$(filter $drawing_of_connection,\$@),-DDRAWS_OF=sk)" \
		CFLAGS_MODULE=-mcmodel=large -j"$jobs" "$@"
}

# left_out NAME WHY
left_out() {
	echo "leowarp: warning: left out: $1: $2"
	printf '%s\t%s\n' "$1" "$2" >> "$out/left-out.txt"
}
fail() {
	echo "leowarp: error: $1" >&2
	exit 1
}
: > "$out/left-out.txt"

echo "leowarp: configure"
kernel_make KCONFIG_ALLCONFIG="$here/kernel.config" allnoconfig
lost=$(grep -oE '^CONFIG_[A-Z0-9_]+=.*' "$here/kernel.config" | while read -r option; do
	grep -qxF "$option" "$build/.config" || echo "$option"
done)
[ -z "$lost" ] || [ $leave_out = yes ] || fail "options of kernel.config that this kernel does not take: "$lost
needed=""
for option in $lost; do
	name=${option%%=*}
	case $name in
	CONFIG_UML_TIME_TRAVEL_SUPPORT | CONFIG_HIGH_RES_TIMERS)
		needed="$needed $option"
		continue ;;
	CONFIG_PREEMPT_NONE)
		# 7.x has voluntary preemption at the least: a task of the kernel's may let another run, none is interrupted
		grep -qx CONFIG_PREEMPTION=y "$build/.config" || { left_out "$name" "this tree has no such choice"; continue; } ;;
	esac
	if grep -rqE --include='Kconfig*' "^[[:space:]]*(menu)?config ${name#CONFIG_}\$" "$source"; then
		needed="$needed $option"
	else
		left_out "$name" "this tree has no such option"
	fi
done
[ -z "$needed" ] || fail "options of kernel.config that this kernel does not take, and a run needs:$needed"

if [ $leave_out = no ]; then
	# Only if it is another one, as below
	cmp -s "$here/irqs/irqflags.h" "$build/irqflags.h" || cp "$here/irqs/irqflags.h" "$build/irqflags.h"
	irqflags="-include $build/irqflags.h"
	cmp -s "$here/skbs/kept.h" "$build/kept.h" || cp "$here/skbs/kept.h" "$build/kept.h"
	kept="-include $build/kept.h"
fi

echo "leowarp: our objects"
kernel_make prepare modules_prepare
# Our clock and leolink use what is static in time.c: the symbols are made global in the object, not in the source
kernel_make arch/um/kernel/time.o
objcopy --globalize-symbol=time_travel_time --globalize-symbol=timer_clockevent \
	--globalize-symbol=time_travel_events --globalize-symbol=time_travel_irqs "$build/arch/um/kernel/time.o"
rm -rf "$build/leowarp"
mkdir "$build/leowarp"
cp "$here/Kbuild" "$here"/*/*.[ch] "$build/leowarp/"
# Each with a function by which it is known to be in the kernel
ours="clock:clock_register leolink:leolink_register bbr_handover:bbr_handover_main
	cubic_handover:cubic_handover_ssthresh delack:delack_register loss_detection:__wrap_tcp_rack_mark_lost
	draws:__wrap_get_random_u32 getrandom:__wrap_sys_getrandom polling:__wrap_handle_syscall
	turns:__wrap___cond_resched
	ahead:__wrap_segv_handler lag:lag_register
	routers:__wrap_netdev_register_kobject taps:__wrap_time_travel_sleep payload:__wrap__copy_from_iter
	memory:memory_register sockets:leowarp_sockets_register where:__wrap_relay_signal"
# What of the kernel's own loss_detection stands before (tcp/loss_hooks.c)
wrapped="tcp_rack_update_reo_wnd tcp_rack_mark_lost tcp_rack_reo_timeout tcp_rack_skb_timeout tcp_newreno_mark_lost
	tcp_enter_loss tcp_cleanup_congestion_control icmp_rcv"
wrapped_by_draws="get_random_u8 get_random_u16 get_random_u32 get_random_u64 __get_random_u32_below get_random_bytes"
wrapped_by_getrandom="sys_getrandom random_fops urandom_fops"
wrapped_by_routers="register_net_sysctl_sz unregister_net_sysctl_table netdev_register_kobject netdev_unregister_kobject
	netdev_queue_update_kobjects net_rx_queue_update_kobjects linkwatch_fire_event"
if [ $leave_out = no ]; then
	kernel_make arch/um/os-Linux/signal.o
	objcopy --globalize-symbol=signals_pending "$build/arch/um/os-Linux/signal.o"
	# What owed.c is in place of stays in the kernel, under a second name, for owed.c to call
	instead=setup_signal_stack_si
	kernel_make arch/x86/um/signal.o
	signal=$build/arch/x86/um/signal.o
	nm "$signal" | grep -q " leowarp_kernels_$instead\$" || objcopy --weaken-symbol=$instead --add-symbol \
		"leowarp_kernels_$instead=.text:0x$(nm "$signal" | sed -n "s/ T $instead\$//p"),function,global" "$signal"
	ours="$ours owed:leowarp_kernels_$instead"
fi
objects=$(printf '%s.o ' $(printf '%s\n' $ours | sed 's/:.*//'))
kernel_make -k M="$build/leowarp" $objects || [ $leave_out = yes ]
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
for part in seed rseq ptrace; do
	gcc -O2 -Wall -Wextra -Werror -fno-pic -fno-stack-protector -c -o "$build/leowarp/$part.o" "$here/$part.c"
done

case $ours in
# Only if it is another one: what includes it is compiled again otherwise
*draws:*) cmp -s "$here/draws/draws.h" "$build/draws.h" || cp "$here/draws/draws.h" "$build/draws.h" ;;
*) drawing="" ;;
esac

echo "leowarp: compile and link"
rm -f "$build/vmlinux" "$build/vmlinux.unstripped" "$build/linux"
if [ $leave_out = yes ]; then
	# A symbol that an object uses, and that neither the tree nor another object of ours has, would end the link
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
fi
wraps=""
case $ours in *loss_detection:*) wraps=$wrapped ;; esac
case $ours in *draws:*) wraps="$wraps $wrapped_by_draws" ;; esac
case $ours in *getrandom:*) wraps="$wraps $wrapped_by_getrandom" ;; esac
case $ours in *polling:*) wraps="$wraps handle_syscall" ;; esac
case $ours in *turns:*) wraps="$wraps __cond_resched" ;; esac
case $ours in *ahead:*) wraps="$wraps segv_handler" ;; esac
case $ours in *routers:*) wraps="$wraps $wrapped_by_routers" ;; esac
case $ours in *taps:*) wraps="$wraps time_travel_sleep" ;; esac
case $ours in *payload:*) wraps="$wraps _copy_from_iter" ;; esac
case $ours in *where:*) wraps="$wraps show_regs relay_signal" ;; esac
kernel_make LINK_WRAPS="-Wl,--wrap,malloc -Wl,--wrap,free -Wl,--wrap,calloc -Wl,--wrap,getrandom \
	-Wl,--wrap,ptrace $(printf -- '-Wl,--wrap,%s ' $wraps) $(printf "$build/leowarp/%s.o " seed rseq ptrace $(printf '%s\n' $ours | sed 's/:.*//'))" linux modules

if [ $leave_out = no ]; then
	astray=$(cd "$build" && nm -A -u net/core/*.o net/ipv4/*.o net/sched/*.o | grep -E ' (__)?get_random_' |
		grep -v '^[^:]*/built-in' | sed 's/:.*//' | sort -u)
	[ -z "$astray" ] || fail "these draw from the kernel's common stream and are to be named in \$drawing: "$astray
fi
nm "$build/linux" > "$build/all-symbols.txt"
for symbol in time_travel_time init_task cpu_tasks __wrap_getrandom __wrap_ptrace leowarp_calls $(printf '%s\n' $ours | sed 's/.*://'); do
	grep -E " $symbol\$" "$build/all-symbols.txt" || fail "$symbol is not in the kernel"
done > "$build/symbols.txt"
cp "$build/.config" "$out/config"
cp "$build/symbols.txt" "$out/symbols.txt"
strip -s -o "$out/linux" "$build/linux"
echo "leowarp: pack"
sh "$here/module/pack.sh" "$source" "$build" "$flags" "$out/module-tree.tar.xz"
echo "leowarp: done"
