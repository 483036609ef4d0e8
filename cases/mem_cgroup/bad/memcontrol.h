/* include/linux/memcontrol.h as of 5.10-rc: the members from the counters on; what is before them keeps its size */
#ifndef MEMCONTROL_H
#define MEMCONTROL_H

#include "kernel.h"

#define MEMCG_NR_STAT 40
#define NR_VM_EVENT_ITEMS 89
#define MEMCG_NR_MEMORY_EVENTS 8

struct memcg_padding {
	char x[0];
} ____cacheline_internodealigned_in_smp;
#define MEMCG_PADDING(name) struct memcg_padding name

struct memcg_vmstats_percpu {
	long stat[MEMCG_NR_STAT];
	unsigned long events[NR_VM_EVENT_ITEMS];
	unsigned long nr_page_events;
};

struct mem_cgroup {
	char css_and_counters[1280];

	MEMCG_PADDING(_pad1_);

	/*
	 * set > 0 if pages under this cgroup are moving to other cgroup.
	 */
	atomic_t moving_account;
	void *move_lock_task;

	/* Legacy local VM stats and events */
	struct memcg_vmstats_percpu *vmstats_local;

	/* Subtree VM stats and events (batched updates) */
	struct memcg_vmstats_percpu *vmstats_percpu;

	MEMCG_PADDING(_pad2_);

	atomic_long_t vmstats[MEMCG_NR_STAT];
	atomic_long_t vmevents[NR_VM_EVENT_ITEMS];

	/* memory.events */
	atomic_long_t memory_events[MEMCG_NR_MEMORY_EVENTS];
	atomic_long_t memory_events_local[MEMCG_NR_MEMORY_EVENTS];

	unsigned long socket_pressure;

	int kmemcg_id;
	int kmem_state;
	void *objcg;
	struct list_head objcg_list; /* list of inherited objcgs */

	struct list_head cgwb_list;
	struct list_head event_list;
	spinlock_t event_list_lock;
	void *nodeinfo[1];
};

#endif
