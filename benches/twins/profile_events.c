/*
 * ClickHouse's ProfileEvents: each event that a thread counts is added to the counters of the thread, of its query, of
 * the user and of the server, which are arrays of atomic numbers, one for each kind of event.
 */
#include "common.h"
#include "marker.h"

/* Kinds of events when the padding was taken back (26.2). */
#define EVENTS 1144u
/* Arrays that an event is added to: that of the thread, and the three that all threads of a query share. */
#define LEVELS 4u
/* Events of one operation, as for a block that is read: some are neighbours in the array, some are not. */
#define EVENTS_PER_OPERATION 8u

struct counter {
	uint64_t value;
#ifdef LAYOUT_GOOD
} __attribute__((aligned(64)));
#else
};
#endif

struct counters {
	struct counter *counters;
	struct counters *parent;
	bool trace;
} __attribute__((aligned(256)));

static const unsigned int events[EVENTS_PER_OPERATION] = { 16, 18, 41, 42, 43, 46, 47, 320 };

/* The server's, the user's and the query's; then one of each thread. */
static struct counters shared[LEVELS - 1];
static struct counters *own;

static void create(struct counters *counters, struct counters *parent)
{
	counters->counters = slab_alloc(EVENTS * sizeof(*counters->counters));
	counters->parent = parent;
}

static void setup(unsigned int threads)
{
	for (unsigned int i = 0; i < LEVELS - 1; i++)
		create(&shared[i], i ? &shared[i - 1] : NULL);
	own = slab_alloc(threads * sizeof(*own));
	for (unsigned int i = 0; i < threads; i++)
		create(&own[i], &shared[LEVELS - 2]);
}

static void increment(struct counters *counters, unsigned int event, uint64_t amount)
{
	for (struct counters *level = counters; level; level = level->parent) {
		__atomic_fetch_add(&level->counters[event].value, amount, __ATOMIC_RELAXED);
		if (READ_ONCE(level->trace))
			__builtin_trap();
	}
}

static void work(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		for (unsigned int event = 0; event < EVENTS_PER_OPERATION; event++)
			increment(&own[self->index], events[event], event + 1);
		MARK(OPERATION);
		work_apart();
	}
	self->operations += operations;
}

static struct role role(unsigned int index)
{
	(void)index;
	return (struct role){ .work = work };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	uint64_t operations = 0;
	bool right = true;

	for (unsigned int i = 0; i < threads; i++) {
		operations += workers[i].operations;
		for (unsigned int event = 0; event < EVENTS_PER_OPERATION; event++)
			right &= equal("a thread's counter", own[i].counters[events[event]].value,
				       (event + 1) * workers[i].operations);
	}
	for (unsigned int i = 0; i < LEVELS - 1; i++)
		for (unsigned int event = 0; event < EVENTS_PER_OPERATION; event++)
			right &= equal("a shared counter", shared[i].counters[events[event]].value,
				       (event + 1) * operations);
	return right;
}

static void describe(FILE *out)
{
	fprintf(out, "counter %zu\ncounters %zu\n", sizeof(struct counter), EVENTS * sizeof(struct counter));
}

const struct program program = {
	.name = "profile_events",
	.threads_min = 1,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
