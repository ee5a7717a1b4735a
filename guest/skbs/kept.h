/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Freed packets are kept for the next: included first in net/core/skbuff.o by guest/build.sh.
 *
 * Before working on this file read kmalloc_reserve, __alloc_skb, skb_kfree_head and kfree_skbmem of net/core/skbuff.c, and
 * do_slab_free and ___slab_alloc of mm/slub.c: on one processor SLUB has one slab at hand. Packets of a link are freed in the
 * order in which they were sent, so that almost each belongs to another slab, whose description and free list have left the
 * cache (docs/performance.md). Here the last that were freed stand in an array, and the next packet is the one freed last.
 *
 * Nothing sees where a packet lies, so that no byte of a trace is another one. All that is kept has been allocated of its own
 * cache and goes back to it; heads are known by their size, as skb_kfree_head knew them until KFENCE's were found among
 * them, which the guest does not have.
 */
#ifndef LEOWARP_KEPT_H
#define LEOWARP_KEPT_H

/* as skbuff.c does before it includes anything */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
/* All that frees in what skbuff.c includes: below, kfree means a packet's head */
#include <linux/ptr_ring.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/hotdata.h>
#include <net/ip.h>
#include <net/tcp.h>

#if IS_ENABLED(CONFIG_KFENCE) || IS_ENABLED(CONFIG_SMP) || IS_ENABLED(CONFIG_KASAN)
#error "kept.h is for one processor, and for heads that only skb_small_head_cache has made"
#endif

/* More than what a burst frees before the next packet is made; beyond it SLUB has them */
#define LEOWARP_KEPT 256

struct leowarp_kept {
	unsigned int count;
	void *objects[LEOWARP_KEPT];
};

static struct leowarp_kept leowarp_skbs, leowarp_clones, leowarp_heads;

static __always_inline struct leowarp_kept *leowarp_kept_of(const struct kmem_cache *cache)
{
	if (cache == net_hotdata.skbuff_cache)
		return &leowarp_skbs;
	if (cache == net_hotdata.skbuff_fclone_cache)
		return &leowarp_clones;
	return cache == net_hotdata.skb_small_head_cache ? &leowarp_heads : NULL;
}

static __always_inline void *leowarp_take(struct leowarp_kept *kept)
{
	unsigned long flags;
	void *object = NULL;

	/* packets are made and freed in interrupts, too */
	local_irq_save(flags);
	if (likely(kept->count))
		object = kept->objects[--kept->count];
	local_irq_restore(flags);
	return object;
}

static __always_inline bool leowarp_keep(struct leowarp_kept *kept, void *object)
{
	unsigned long flags;
	bool room;

	local_irq_save(flags);
	room = kept->count < LEOWARP_KEPT;
	if (likely(room))
		kept->objects[kept->count++] = object;
	local_irq_restore(flags);
	return room;
}

static __always_inline void *leowarp_alloc(struct kmem_cache *cache, gfp_t gfp, int node)
{
	struct leowarp_kept *kept = leowarp_kept_of(cache);
	void *object = kept ? leowarp_take(kept) : NULL;

	return likely(object) ? object : kmem_cache_alloc_node_noprof(cache, gfp, node);
}

static __always_inline void leowarp_free(struct kmem_cache *cache, void *object)
{
	struct leowarp_kept *kept = leowarp_kept_of(cache);

	if (!kept || !leowarp_keep(kept, object))
		kmem_cache_free(cache, object);
}

static __always_inline void leowarp_free_head(void *head, bool is_small)
{
	if (!is_small || !leowarp_keep(&leowarp_heads, head))
		kfree(head);
}

#undef kmem_cache_alloc
#undef kmem_cache_alloc_node
#define kmem_cache_alloc(cache, gfp) leowarp_alloc(cache, gfp, NUMA_NO_NODE)
#define kmem_cache_alloc_node(cache, gfp, node) leowarp_alloc(cache, gfp, node)
#define kmem_cache_free(cache, object) leowarp_free(cache, object)
/* skb_kfree_head alone frees so; whatever else did would not compile */
#define kfree(head) leowarp_free_head(head, end_offset == SKB_SMALL_HEAD_HEADROOM)

#endif
