/* Types and attributes that the kernel's structs are written with, for x86-64 without debug options. */
#ifndef CASES_KERNEL_H
#define CASES_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SMP_CACHE_BYTES 64
#define ____cacheline_aligned __attribute__((__aligned__(SMP_CACHE_BYTES)))
#define ____cacheline_aligned_in_smp ____cacheline_aligned
#define ____cacheline_internodealigned_in_smp ____cacheline_aligned

typedef uint64_t u64;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	unsigned int slock;
} spinlock_t;

typedef struct {
	unsigned int sequence;
} seqcount_t;

struct list_head {
	struct list_head *next, *prev;
};

struct llist_node {
	struct llist_node *next;
};

struct rb_root {
	void *rb_node;
};

struct optimistic_spin_queue {
	atomic_t tail;
};

struct rw_semaphore {
	atomic_long_t count;
	atomic_long_t owner;
	struct optimistic_spin_queue osq; /* spinner MCS lock */
	spinlock_t wait_lock;
	struct list_head wait_list;
};

#endif
