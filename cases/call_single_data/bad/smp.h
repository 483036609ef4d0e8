/* include/linux/smp.h as of 4.13 */
#ifndef SMP_H
#define SMP_H

#include "kernel.h"

typedef void (*smp_call_func_t)(void *info);

struct call_single_data {
	struct llist_node llist;
	smp_call_func_t func;
	void *info;
	unsigned int flags;
};

#endif
