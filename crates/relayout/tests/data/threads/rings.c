/* Queues between threads. Threads 0 and 1 put in, threads 2 and 3 take out. Nobody waits: in each round
 * a thread tries once, so that the work is the same with each layout. */
#include <string.h>

#include "threads.h"

#define SLOTS 256

/* One puts in, one takes out: head and tail share a line. */
struct ring {
	unsigned long head;
	unsigned long tail;
	unsigned long mask;
	unsigned long slots[SLOTS];
};

/* Many do both: positions are tickets that fetch_add draws. */
struct ticket_queue {
	unsigned long enqueue_ticket;
	unsigned long dequeue_ticket;
	unsigned int capacity;
	unsigned int closed;
	unsigned long *cells;
	char label[88];
};

/* Bits of who has work, beside what is only read. */
typedef struct {
	unsigned long pending;
	unsigned long handler_count;
	unsigned long enabled;
	char trace[104];
} doorbell;

/* A lock by tickets, beside what it does not protect. */
struct ticket_lock {
	unsigned int next;
	unsigned int owner;
};

struct journal {
	struct ticket_lock lock;
	unsigned long written;
	unsigned long block_bytes;
	unsigned long flags;
	char device[96];
};

/* Links and counts, nested, for each thread. */
struct link {
	struct link *next;
};

struct counts {
	unsigned int done;
	unsigned int failed;
};

struct lane {
	struct link link;
	struct counts counts;
	unsigned long bytes;
};

static struct ring ring;
static doorbell bell = { .handler_count = 4, .enabled = 15 };
static struct ticket_queue *tickets;
static struct journal *journal;
static struct lane *lanes;
static unsigned long sums[THREADS * 8];

static void put(unsigned long value)
{
	unsigned long head = ring.head;

	if (head - __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE) >= SLOTS)
		return;
	ring.slots[head & ring.mask] = value;
	__atomic_store_n(&ring.head, head + 1, __ATOMIC_RELEASE);
}

static unsigned long take(void)
{
	unsigned long value, tail = ring.tail;

	if (tail == __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE))
		return 0;
	value = ring.slots[tail & ring.mask];
	__atomic_store_n(&ring.tail, tail + 1, __ATOMIC_RELEASE);
	return value;
}

static unsigned long draw(long number)
{
	unsigned long *ticket = number < 2 ? &tickets->enqueue_ticket : &tickets->dequeue_ticket;

	return __atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED) % tickets->capacity;
}

static unsigned long ring_bell(long number)
{
	if (number == 0)
		__atomic_fetch_or(&bell.pending, 1, __ATOMIC_RELAXED);
	else if (number == 1)
		__atomic_fetch_and(&bell.pending, ~1ul, __ATOMIC_RELAXED);
	return bell.enabled & bell.handler_count;
}

static void write_journal(void)
{
	unsigned int owner = __atomic_load_n(&journal->lock.owner, __ATOMIC_ACQUIRE);
	unsigned int next = owner;

	if (!__atomic_compare_exchange_n(&journal->lock.next, &next, owner + 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	journal->written++;
	__atomic_store_n(&journal->lock.owner, owner + 1, __ATOMIC_RELEASE);
}

static void run(long number)
{
	struct lane *own = &lanes[number];
	unsigned long sum = 0;

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		if (number == 0)
			put(i);
		else if (number == 2)
			sum += take();
		if (i % 2)
			sum += draw(number);
		else
			sum += tickets->capacity + tickets->closed;
		sum += ring_bell(number);
		if (number % 2 == 0)
			write_journal();
		else
			sum += journal->block_bytes + journal->flags;
		own->counts.done++;
		own->bytes += sum & 63;
		each_round();
		sum += own->link.next == NULL;
	}
	sums[number * 8] = sum;
}

int main(int count, char **words)
{
	ring.mask = SLOTS - 1;
	tickets = aligned_alloc(64, sizeof(*tickets));
	memset(tickets, 0, sizeof(*tickets));
	tickets->capacity = SLOTS;
	journal = calloc(1, sizeof(*journal));
	journal->block_bytes = 4096;
	lanes = calloc(THREADS, sizeof(*lanes));
	run_threads(count, words);
	printf("%lu %lu\n", sums[0], journal->written + lanes[1].bytes);
	free(tickets);
	free(journal);
	free(lanes);
	return 0;
}
