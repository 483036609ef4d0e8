/*
 * Case 5, struct optimistic_spin_node: thread A takes and releases the lock, which writes the members
 * of its node; the others wait behind it and read its cpu, as vcpu_is_preempted() makes them.
 *
 * A stores to cpu the value that it has: a silent store, which takes the line away from the readers
 * like any other. With -DSTORE_CHECKED it looks first, as the second half of the change does.
 */
#include "common.h"

#include <osq_lock.h>

static struct optimistic_spin_node *node;
static struct optimistic_spin_node next;
static const int CPU = 3;

static void setup(unsigned int threads)
{
	(void)threads;
	node = slab_alloc(sizeof(*node));
	NAME_OBJECT(node, sizeof(*node), "optimistic_spin_node");
	node->cpu = CPU;
}

static void set_cpu(int cpu)
{
#ifdef STORE_CHECKED
	if (READ_ONCE(node->cpu) == cpu)
		return;
#endif
	WRITE_ONCE(node->cpu, cpu);
}

static void lock_and_unlock(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		WRITE_ONCE(node->locked, 0);
		WRITE_ONCE(node->next, NULL);
		set_cpu(CPU);
		/* What the others of the queue write into the node. */
		WRITE_ONCE(node->next, &next);
		WRITE_ONCE(node->locked, 1);
		self->sum += (uint64_t)READ_ONCE(node->locked);
		finish_operation();
	}
	self->operations += operations;
}

static void wait_behind(struct worker *self, unsigned long operations)
{
	uint64_t sum = self->sum;

	for (unsigned long i = 0; i < operations; i++) {
		sum += (uint64_t)READ_ONCE(node->cpu);
		finish_operation();
	}
	self->sum = sum;
	self->operations += operations;
}

static struct role role(unsigned int index)
{
	return (struct role){ .work = index == 0 ? lock_and_unlock : wait_behind };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	bool right = equal("A's sum", workers[0].sum, workers[0].operations);

	right &= equal("cpu", (uint64_t)node->cpu, (uint64_t)CPU);
	for (unsigned int i = 1; i < threads; i++)
		right &= equal("a reader's sum", workers[i].sum,
			       workers[i].operations * (uint64_t)CPU);
	return right;
}

static void describe(FILE *out)
{
	fprintf(out, "optimistic_spin_node %zu\nnext %zu\nlocked %zu\ncpu %zu\n",
		sizeof(struct optimistic_spin_node), offsetof(struct optimistic_spin_node, next),
		offsetof(struct optimistic_spin_node, locked),
		offsetof(struct optimistic_spin_node, cpu));
}

const struct program program = {
	.name = "optimistic_spin_node",
	.threads_min = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
