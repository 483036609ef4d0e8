/* mm/percpu-internal.h with the accepted change (v3 of the patch) */
#ifndef PCPU_CHUNK_H
#define PCPU_CHUNK_H

#include "kernel.h"

struct pcpu_block_md {
	int scan_hint;
	int scan_hint_start;
	int contig_hint;
	int contig_hint_start;
	int left_free;
	int right_free;
	int first_free;
	int nr_bits;
};

struct pcpu_chunk {
	struct list_head list; /* linked to pcpu_slot lists */
	int free_bytes; /* free bytes in the chunk */
	struct pcpu_block_md chunk_md;
	unsigned long *bound_map; /* boundary map */

	/*
	 * base_addr is the base address of this chunk.
	 * To reduce false sharing, current layout is optimized to make sure
	 * base_addr locate in the different cacheline with free_bytes and
	 * chunk_md.
	 */
	void *base_addr ____cacheline_aligned_in_smp;

	unsigned long *alloc_map; /* allocation map */
	struct pcpu_block_md *md_blocks; /* metadata blocks */

	void *data; /* chunk data */
	bool immutable; /* no [de]population allowed */
	bool isolated; /* isolated from active chunk slots */
	int start_offset; /* the overlap with the previous region */
	int end_offset; /* additional area required to have the region end page aligned */
	void **obj_cgroups; /* vector of object cgroups */
	int nr_pages; /* # of pages served by this chunk */
	int nr_populated; /* # of populated pages */
	int nr_empty_pop_pages; /* # of empty populated pages */
	unsigned long populated[]; /* populated bitmap */
};

#endif
