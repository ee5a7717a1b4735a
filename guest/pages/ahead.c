// SPDX-License-Identifier: GPL-2.0-only
/*
 * A write that is the first to a page of a process's own memory gives the process the pages beside it, too.
 *
 * A page that is not there yet costs two stops of the process by ptrace, some 40 us or 200 packet-hops; the pages beside it
 * cost hardly more than their zeros. A network of many flows touches hundreds for each (docs/performance.md). Given are
 * those of the aligned block of PAGES_AHEAD that hold nothing yet. With 8, runs of many flows take 4 % less again, and 1,000
 * flows 65 MiB more.
 *
 * Linked with --wrap=segv_handler (guest/build.sh).
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/pgtable.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>

#define PAGES_AHEAD 4

/* By its type: a kernel that passes something else does not compile this */
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
	/* If the process may not write there, its page is not there either */
	if (vma && vma_is_anonymous(vma) && (vma->vm_flags & VM_WRITE) && is_there(mm, address)) {
		for (page = start; page < start + PAGES_AHEAD * PAGE_SIZE; page += PAGE_SIZE) {
			if (page < vma->vm_start || page >= vma->vm_end || is_there(mm, page))
				continue;
			/* The lock stays: FAULT_FLAG_ALLOW_RETRY is not given. If memory is short, the process finds it out itself */
			if (handle_mm_fault(vma, page, FAULT_FLAG_WRITE | FAULT_FLAG_USER, NULL) & VM_FAULT_ERROR)
				break;
		}
	}
	mmap_read_unlock(mm);
}

void __wrap_segv_handler(int sig, struct siginfo *info, struct uml_pt_regs *regs)
{
	struct faultinfo fault = *UPT_FAULTINFO(regs);
	bool writes = UPT_IS_USER(regs) && FAULT_WRITE(fault);

	__real_segv_handler(sig, info, regs);
	if (writes)
		give_block_of(current->mm, FAULT_ADDRESS(fault));
}
