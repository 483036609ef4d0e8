/* include/linux/mm_types.h as of 5.11, up to the arguments */
#ifndef MM_TYPES_H
#define MM_TYPES_H

#include "kernel.h"

struct mm_struct {
	void *mmap; /* list of VMAs */
	struct rb_root mm_rb;
	u64 vmacache_seqnum; /* per-thread vmacache */
	unsigned long (*get_unmapped_area)(void);
	unsigned long mmap_base; /* base of mmap area */
	unsigned long mmap_legacy_base; /* base of mmap area in bottom-up allocations */
	unsigned long mmap_compat_base; /* base addresses for compatible mmap() */
	unsigned long mmap_compat_legacy_base;
	unsigned long task_size; /* size of task vm space */
	unsigned long highest_vm_end; /* highest vma end address */
	void *pgd;
	atomic_t membarrier_state;
	atomic_t mm_users;
	atomic_t mm_count;
	atomic_t has_pinned;
	/*
	 * Locked when any thread is write protecting pages mapped by this mm
	 * to enforce a later COW.
	 */
	seqcount_t write_protect_seq;
	atomic_long_t pgtables_bytes; /* PTE page table pages */
	int map_count; /* number of VMAs */
	spinlock_t page_table_lock; /* protects page tables and some counters */
	struct rw_semaphore mmap_lock;

	struct list_head mmlist; /* list of maybe swapped mm's */
	unsigned long hiwater_rss; /* high-watermark of RSS usage */
	unsigned long hiwater_vm; /* high-water virtual memory usage */
	unsigned long total_vm; /* total pages mapped */
	unsigned long locked_vm; /* pages that have PG_mlocked set */
	atomic_long_t pinned_vm; /* refcount permanently increased */
	unsigned long data_vm; /* VM_WRITE & ~VM_SHARED & ~VM_STACK */
	unsigned long exec_vm; /* VM_EXEC & ~VM_WRITE & ~VM_STACK */
	unsigned long stack_vm; /* VM_STACK */
	unsigned long def_flags;
	spinlock_t arg_lock; /* protect the below fields */
	unsigned long start_code, end_code, start_data, end_data;
	unsigned long start_brk, brk, start_stack;
	unsigned long arg_start, arg_end, env_start, env_end;
};

#endif
