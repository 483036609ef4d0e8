/*
 * A ring from one producer to one consumer: each element stores `head`, and each taken one `tail`; each side loads the
 * other's index for every element.
 */
#include "common.h"
#include "marker.h"

#define SLOTS 4096u

struct ring {
	unsigned long head __attribute__((aligned(64)));
#ifdef LAYOUT_GOOD
	unsigned long tail __attribute__((aligned(64)));
#else
	unsigned long tail;
#endif
};

static struct ring *ring;
static unsigned long *slots;

static void setup(unsigned int threads)
{
	(void)threads;
	ring = slab_alloc(sizeof(*ring));
	slots = slab_alloc(SLOTS * sizeof(*slots));
	NAME_OBJECT(ring, sizeof(*ring), "ring");
}

static void produce(struct worker *self, unsigned long operations)
{
	unsigned long at = self->operations;

	for (unsigned long end = at + operations; at < end;) {
		while (at - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= SLOTS)
			cpu_relax();
		WRITE_ONCE(slots[at % SLOTS], at);
		__atomic_store_n(&ring->head, ++at, __ATOMIC_RELEASE);
		MARK(OPERATION);
		work_apart();
	}
	self->operations = at;
}

static bool is_empty_at(unsigned long at)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == at;
}

/* Takes what is there, until the producer has ended and nothing is left. */
static void consume(struct worker *self, unsigned long operations)
{
	unsigned long at = self->operations, right = 0;

	for (unsigned long end = at + operations; at < end;) {
		if (is_empty_at(at)) {
			if (finished() && is_empty_at(at))
				break;
			cpu_relax();
			continue;
		}
		right += READ_ONCE(slots[at % SLOTS]) == at;
		__atomic_store_n(&ring->tail, ++at, __ATOMIC_RELEASE);
		work_apart();
	}
	self->sum += right;
	self->operations = at;
}

static struct role role(unsigned int index)
{
	return (struct role){ .work = index == 0 ? produce : consume, .follower = index != 0 };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	bool right = equal("head", ring->head, workers[0].operations);

	/* The window may end with some elements left in the ring. */
	right &= equal("tail", ring->tail, workers[1].operations);
	right &= equal("the consumer's elements", workers[1].sum, workers[1].operations);
	return right && threads == 2 && ring->head - ring->tail <= SLOTS;
}

static void describe(FILE *out)
{
	fprintf(out, "ring %zu\nhead %zu\ntail %zu\n", sizeof(struct ring), offsetof(struct ring, head),
		offsetof(struct ring, tail));
}

const struct program program = {
	.name = "spsc_ring",
	.threads_min = 2,
	.threads_max = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
