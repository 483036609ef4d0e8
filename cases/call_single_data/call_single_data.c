/*
 * Case 3, struct call_single_data: one thread of a pair hands a function to the other, as an
 * inter-processor interrupt does, and waits until it has been called.
 *
 * The objects are allocated as alloc_percpu() does: behind what is there already, with the alignment
 * of the type and no more. 48 bytes are taken.
 *
 * queue:     by way of the other's call_single_queue, as the kernel does; the queue stands for the
 *            interrupt too.
 * handshake: the other watches the object itself. No queue's line moves, so that the object's count
 *            for more; and the watching takes the line away while it is being filled.
 */
#include "common.h"

#include <smp.h>
#include <stdlib.h>

enum { QUEUE, HANDSHAKE };

#define CSD_FLAG_LOCK 1u
#define TAKEN_BYTES 48
#define AREA_BYTES 256

struct llist_head {
	struct llist_node *first;
};

static const char *const mixes[] = { "queue", "handshake", NULL };
static struct call_single_data **csds;
static struct llist_head **queues;

static void *percpu_alloc(size_t bytes, size_t align)
{
	char *area = slab_alloc(AREA_BYTES);
	size_t at = (TAKEN_BYTES + align - 1) / align * align;

	NAME_OBJECT(area + at, bytes, "call_single_data");
	return area + at;
}

static void setup(unsigned int threads)
{
	csds = slab_alloc(threads / 2 * sizeof(*csds));
	queues = slab_alloc(threads / 2 * sizeof(*queues));
	for (unsigned int i = 0; i < threads / 2; i++) {
		csds[i] = percpu_alloc(sizeof(**csds), __alignof__(**csds));
		queues[i] = slab_alloc(sizeof(**queues));
	}
}

static void add(void *info)
{
	*(uint64_t *)info += 1;
}

static bool locked(struct call_single_data *csd)
{
	return __atomic_load_n(&csd->flags, __ATOMIC_ACQUIRE) & CSD_FLAG_LOCK;
}

/* smp_call_function_single(): fills the csd, queues it, and waits in csd_lock_wait(). */
static void send(struct worker *self, unsigned long operations)
{
	struct call_single_data *csd = csds[self->index / 2];
	struct llist_head *queue = queues[self->index / 2];

	for (unsigned long i = 0; i < operations; i++) {
		WRITE_ONCE(csd->func, add);
		WRITE_ONCE(csd->info, &self->sum);
		WRITE_ONCE(csd->llist.next, NULL);
		__atomic_store_n(&csd->flags, CSD_FLAG_LOCK, __ATOMIC_RELEASE);
		if (mix == QUEUE)
			__atomic_store_n(&queue->first, &csd->llist, __ATOMIC_RELEASE);
		while (locked(csd))
			cpu_relax();
		finish_operation();
	}
	self->operations += operations;
}

/* The csd that is sent next; NULL if none will be. */
static struct call_single_data *receive(const struct worker *self)
{
	struct call_single_data *csd = csds[self->index / 2];
	struct llist_head *queue = queues[self->index / 2];
	struct llist_node *entry;

	if (mix == HANDSHAKE) {
		while (!locked(csd)) {
			if (finished())
				return NULL;
			cpu_relax();
		}
		return csd;
	}
	while (!(entry = __atomic_load_n(&queue->first, __ATOMIC_ACQUIRE))) {
		if (finished())
			return NULL;
		cpu_relax();
	}
	__atomic_store_n(&queue->first, NULL, __ATOMIC_RELAXED);
	return (void *)((char *)entry - offsetof(struct call_single_data, llist));
}

/* flush_smp_call_function_queue(): calls, and unlocks the csd. */
static void answer(struct worker *self, unsigned long operations)
{
	struct call_single_data *csd;

	for (unsigned long i = 0; i < operations; i++) {
		csd = receive(self);
		if (!csd) {
			self->operations += i;
			return;
		}
		READ_ONCE(csd->func)(READ_ONCE(csd->info));
		self->sum += READ_ONCE(csd->llist.next) == NULL;
		__atomic_store_n(&csd->flags, 0, __ATOMIC_RELEASE);
		finish_operation();
	}
	self->operations += operations;
}

static struct role role(unsigned int index)
{
	if (index % 2 == 0)
		return (struct role){ .work = send };
	return (struct role){ .work = answer, .follower = true };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	bool right = true;

	for (unsigned int i = 0; i < threads; i += 2) {
		right &= equal("calls made", workers[i].sum, workers[i].operations);
		right &= equal("calls answered", workers[i + 1].sum, workers[i].operations);
	}
	return right;
}

static void describe(FILE *out)
{
	const size_t align = __alignof__(struct call_single_data);
	const size_t at = (TAKEN_BYTES + align - 1) / align * align;

	fprintf(out, "call_single_data %zu\nalign %zu\naddress modulo 64 %zu\nflags %zu\n",
		sizeof(struct call_single_data), align, at % 64,
		offsetof(struct call_single_data, flags));
}

const struct program program = {
	.name = "call_single_data",
	.mixes = mixes,
	.threads_min = 2,
	.threads_multiple = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
