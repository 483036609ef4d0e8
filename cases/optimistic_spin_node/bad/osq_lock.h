/* include/linux/osq_lock.h as of 6.6 */
#ifndef OSQ_LOCK_H
#define OSQ_LOCK_H

#include "kernel.h"

struct optimistic_spin_node {
	struct optimistic_spin_node *next, *prev;
	int locked; /* 1 if lock acquired */
	int cpu; /* encoded CPU # + 1 value */
};

#endif
