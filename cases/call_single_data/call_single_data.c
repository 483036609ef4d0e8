/*
 * Case 3, struct call_single_data: one thread of a pair hands a function to the other, as an
 * inter-processor interrupt does, and waits until it has been called.
 *
 * The objects are allocated as alloc_percpu() does: behind what is there already, with the alignment
 * of the type and no more. 48 bytes are taken.
 */
#include "common.h"

#include <smp.h>
#include <stdlib.h>

#define CSD_FLAG_LOCK 1u
#define TAKEN_BYTES 48
#define AREA_BYTES 256

static struct call_single_data **csds;

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
	for (unsigned int i = 0; i < threads / 2; i++)
		csds[i] = percpu_alloc(sizeof(**csds), __alignof__(**csds));
}

static void add(void *info)
{
	*(uint64_t *)info += 1;
}

/* smp_call_function_single(): fills the csd, and waits in csd_lock_wait(). */
static void send(struct worker *self, unsigned long operations)
{
	struct call_single_data *csd = csds[self->index / 2];

	for (unsigned long i = 0; i < operations; i++) {
		WRITE_ONCE(csd->func, add);
		WRITE_ONCE(csd->info, &self->sum);
		WRITE_ONCE(csd->llist.next, NULL);
		__atomic_store_n(&csd->flags, CSD_FLAG_LOCK, __ATOMIC_RELEASE);
		while (__atomic_load_n(&csd->flags, __ATOMIC_ACQUIRE) & CSD_FLAG_LOCK)
			;
		work_apart();
	}
	self->operations += operations;
}

/* flush_smp_call_function_queue(): calls, and unlocks the csd. */
static void answer(struct worker *self, unsigned long operations)
{
	struct call_single_data *csd = csds[self->index / 2];

	for (unsigned long i = 0; i < operations; i++) {
		while (!(__atomic_load_n(&csd->flags, __ATOMIC_ACQUIRE) & CSD_FLAG_LOCK))
			if (finished()) {
				self->operations += i;
				return;
			}
		READ_ONCE(csd->func)(READ_ONCE(csd->info));
		self->sum += READ_ONCE(csd->llist.next) == NULL;
		__atomic_store_n(&csd->flags, 0, __ATOMIC_RELEASE);
		work_apart();
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
	.threads_min = 2,
	.threads_multiple = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
