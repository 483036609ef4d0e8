/* include/linux/osq_lock.h with the change that was sent */
#ifndef OSQ_LOCK_H
#define OSQ_LOCK_H

#include "kernel.h"

struct optimistic_spin_node {
	struct optimistic_spin_node *next, *prev;
	int locked; /* 1 if lock acquired */
	/*
	 * Stores an encoded CPU # + 1 value.
	 * Only read by other cpus, so split into different cache lines.
	 */
	int cpu ____cacheline_aligned;
};

#endif
