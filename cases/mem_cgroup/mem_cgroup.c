/*
 * Case 4, struct mem_cgroup: vmstats_percpu is read with every charge, on the line before that of
 * vmstats, which is written when a batch is full. No line is shared between a reader and a writer;
 * it matters only where the hardware fetches lines in pairs.
 *
 * roles: thread A writes vmstats, the others read vmstats_percpu.
 * both:  every thread reads vmstats_percpu and adds to vmstats.
 */
#include "common.h"

#include <memcontrol.h>

enum { ROLES, BOTH };

#define STAT 0

static const char *const mixes[] = { "roles", "both", NULL };
static struct mem_cgroup *memcg;
static struct memcg_vmstats_percpu percpu;

static void setup(unsigned int threads)
{
	(void)threads;
	memcg = slab_alloc(sizeof(*memcg));
	NAME_OBJECT(memcg, sizeof(*memcg), "mem_cgroup");
	memcg->vmstats_percpu = &percpu;
}

/* The part of __mod_memcg_state() that is run when a CPU's batch is full. */
static void flush(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		__atomic_fetch_add(&memcg->vmstats[STAT].counter, 1, __ATOMIC_RELAXED);
		finish_operation();
	}
	self->operations += operations;
}

/* The part that is always run: it finds the CPU's counter. */
static void find(struct worker *self, unsigned long operations)
{
	uint64_t sum = self->sum;

	for (unsigned long i = 0; i < operations; i++) {
		sum += READ_ONCE(memcg->vmstats_percpu) == &percpu;
		finish_operation();
	}
	self->sum = sum;
	self->operations += operations;
}

static void find_and_flush(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		self->sum += READ_ONCE(memcg->vmstats_percpu) == &percpu;
		__atomic_fetch_add(&memcg->vmstats[STAT].counter, 1, __ATOMIC_RELAXED);
		finish_operation();
	}
	self->operations += operations;
}

static struct role role(unsigned int index)
{
	if (mix == BOTH)
		return (struct role){ .work = find_and_flush };
	return (struct role){ .work = index == 0 ? flush : find };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	uint64_t flushed = 0;
	bool right = true;

	for (unsigned int i = 0; i < threads; i++) {
		if (mix == BOTH || i == 0)
			flushed += workers[i].operations;
		if (mix == BOTH || i > 0)
			right &= equal("a reader's sum", workers[i].sum, workers[i].operations);
	}
	return right & equal("vmstats", (uint64_t)memcg->vmstats[STAT].counter, flushed);
}

static void describe(FILE *out)
{
	fprintf(out, "mem_cgroup %zu\nvmstats_percpu %zu\nvmstats %zu\n", sizeof(struct mem_cgroup),
		offsetof(struct mem_cgroup, vmstats_percpu), offsetof(struct mem_cgroup, vmstats));
}

const struct program program = {
	.name = "mem_cgroup",
	.mixes = mixes,
	.threads_min = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
