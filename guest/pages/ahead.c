// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the first write to a page of a process's private memory also map the neighbouring pages.
 *
 * A missing page costs two ptrace stops of the process, which take some 40 us, as long as 200 packet-hops. The
 * neighbouring pages cost little more than the time to zero them. A network with many flows touches hundreds of pages
 * per flow (docs/performance.md). A fault maps all pages of the aligned block of PAGES_AHEAD pages that are still
 * empty. With blocks of 8 pages, runs of many flows take another 4 % less time, but 1,000 flows need 65 MiB more
 * memory.
 *
 * Linked with --wrap=segv_handler (guest/build.sh).
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/pgtable.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>
#include "signal_context.h"

#define PAGES_AHEAD 4

/* Declared by typeof, so that a kernel in which the signature differs does not compile */
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
	/* If the process may not write to the address, the kernel has not mapped the page */
	if (vma && vma_is_anonymous(vma) && (vma->vm_flags & VM_WRITE) && is_there(mm, address)) {
		for (page = start; page < start + PAGES_AHEAD * PAGE_SIZE; page += PAGE_SIZE) {
			if (page < vma->vm_start || page >= vma->vm_end || is_there(mm, page))
				continue;
			/*
			 * FAULT_FLAG_ALLOW_RETRY is not set, so the lock stays held. If there is not enough memory, the
			 * kernel reports this at the process's own later accesses
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
