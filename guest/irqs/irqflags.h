/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Masking interrupts without a call, in place of arch/um/include/asm/irqflags.h.
 *
 * Before working on this file read block_signals, unblock_signals and um_set_signals of arch/um/os-Linux/signal.c: an
 * interrupt of User Mode Linux is masked by a variable, and 6.12 calls a function to set it. In the guest kernel's hot
 * objects that is 3 % of a run (docs/performance.md). Here the variable is set where it is asked for; the function is
 * called only if something waits for interrupts to be enabled: an event of the virtual clock, or a signal.
 *
 * guest/build.sh has it included first in what is built in. Modules go on calling.
 */
#ifndef __UM_IRQFLAGS_H
#define __UM_IRQFLAGS_H
#ifndef __ASSEMBLY__

/* struct list_head before there is one: linux/list.h comes to include this file */
struct leowarp_list {
	struct leowarp_list *next, *prev;
};

/* static in signal.c and time.c; build.sh makes the symbols global in the objects, so that the source stays as it is */
extern struct leowarp_list leowarp_waiting_irqs __asm__("time_travel_irqs");
extern unsigned int leowarp_waiting_signals __asm__("signals_pending");
extern int signals_enabled;
void unblock_signals(void);

static inline void leowarp_set_enabled(int enabled)
{
	__asm__ volatile("" : : : "memory");
	signals_enabled = enabled;
	/* a signal's handler looks at it: neither this nor what follows may be put off */
	__asm__ volatile("" : : : "memory");
}

static inline unsigned long arch_local_save_flags(void)
{
	return signals_enabled;
}

static inline void arch_local_irq_disable(void)
{
	leowarp_set_enabled(0);
}

static inline void arch_local_irq_enable(void)
{
	if (signals_enabled)
		return;
	if (leowarp_waiting_irqs.next == &leowarp_waiting_irqs) {
		/* in this order, as in unblock_signals: a signal in between is seen */
		leowarp_set_enabled(1);
		if (__builtin_expect(!leowarp_waiting_signals, 1))
			return;
		leowarp_set_enabled(0);
	}
	unblock_signals();
}

static inline void arch_local_irq_restore(unsigned long flags)
{
	if (flags)
		arch_local_irq_enable();
	else
		leowarp_set_enabled(0);
}

#define arch_local_save_flags arch_local_save_flags
#define arch_local_irq_disable arch_local_irq_disable
#define arch_local_irq_enable arch_local_irq_enable
#define arch_local_irq_restore arch_local_irq_restore
#define ARCH_IRQ_DISABLED 0

#include <asm-generic/irqflags.h>

#endif
#endif
