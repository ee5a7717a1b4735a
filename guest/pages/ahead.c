// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a process first writes to a page of its private memory, this file also maps the neighbouring pages.
 *
 * Each page fault costs two ptrace stops of the process, which take about 40 us, as long as 200 packet-hops. Mapping
 * the neighbouring pages costs little more than the time to zero them. A network with many flows touches hundreds of
 * pages per flow (docs/performance.md). The file maps all empty pages of the aligned block of PAGES_AHEAD pages that
 * contains the fault. With blocks of 8 pages instead of 4, runs of many flows would take another 4 % less time, but
 * 1,000 flows would need 65 MiB more memory.
 *
 * The kernel is linked with --wrap=segv_handler (guest/build.sh).
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/pgtable.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>
#include "signal_context.h"

#define PAGES_AHEAD 4

/* Declared by typeof, so that compiling fails on a kernel in which the function's signature differs */
typeof(segv_handler) __real_segv_handler, __wrap_segv_handler;

static bool is_there(struct mm_struct *mm, unsigned long address)
{
	pte_t *pte = virt_to_pte(mm, address);

	return pte && !pte_none(*pte);
}

static void give_block_of(struct mm_struct *mm, unsigned long address)
{
	unsigned long start = ALIGN_DOWN(address, PAGES_AHEAD * PAGE_SIZE), page;
	struct vm_area_struct *vma;

	if (!mmap_read_trylock(mm))
		return;
	vma = vma_lookup(mm, address);
	/* The kernel has mapped the page only if the process may write to the address */
	if (vma && vma_is_anonymous(vma) && (vma->vm_flags & VM_WRITE) && is_there(mm, address)) {
		for (page = start; page < start + PAGES_AHEAD * PAGE_SIZE; page += PAGE_SIZE) {
			if (page < vma->vm_start || page >= vma->vm_end || is_there(mm, page))
				continue;
			/*
			 * Without FAULT_FLAG_ALLOW_RETRY, handle_mm_fault() keeps the lock. If there is not enough
			 * memory, the error is ignored here, and occurs again when the process accesses the page
			 */
			if (handle_mm_fault(vma, page, FAULT_FLAG_WRITE | FAULT_FLAG_USER, NULL) & VM_FAULT_ERROR)
				break;
		}
	}
	mmap_read_unlock(mm);
}

void __wrap_segv_handler(int sig, struct siginfo *info, struct uml_pt_regs *regs AND_CONTEXT)
{
	struct faultinfo fault = *UPT_FAULTINFO(regs);
	bool writes = UPT_IS_USER(regs) && FAULT_WRITE(fault);

	__real_segv_handler(sig, info, regs WITH_CONTEXT);
	if (writes)
		give_block_of(current->mm, FAULT_ADDRESS(fault));
}
