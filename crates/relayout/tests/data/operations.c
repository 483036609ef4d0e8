/* Words that threads share, each by another operation: a lock, a ticket, a state, bits, references,
 * a sum. Built with `relayout cc`; threads hand the processor over, so that they meet. */
#include <pthread.h>
#include <sched.h>

/* The threads meet in every eighth round, so that they take turns on a busy machine too. */
#define ROUNDS 20000
#define ROUNDS_APART 8

struct lock_word { unsigned word; } __attribute__((aligned(64)));
struct ticket_word { unsigned long next; } __attribute__((aligned(64)));
struct state_word { unsigned state; } __attribute__((aligned(64)));
struct flag_word { unsigned long flags; } __attribute__((aligned(64)));
struct count_word { unsigned references; } __attribute__((aligned(64)));
struct sum_word { unsigned long total; } __attribute__((aligned(64)));

struct lock_word lock_word;
struct ticket_word ticket_word;
struct state_word state_word;
struct flag_word flag_word;
struct count_word count_word = { .references = 1 };
struct sum_word sum_word;

static pthread_barrier_t both;
static unsigned long drawn[2], freed[2];

static void lock(void)
{
	unsigned free = 0;

	if (__atomic_compare_exchange_n(&lock_word.word, &free, 1, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&lock_word.word, 2, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void advance(void)
{
	unsigned state = __atomic_load_n(&state_word.state, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(&state_word.state, &state, (state + 1) % 3, 0,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

static void *work(void *which)
{
	unsigned long self = (unsigned long)which;

	for (unsigned long round = 0; round < ROUNDS; round++) {
		if (round % ROUNDS_APART == 0)
			pthread_barrier_wait(&both);
		lock();
		if (round % 16 == 0)
			sched_yield();
		__atomic_exchange_n(&lock_word.word, 0, __ATOMIC_RELEASE);
		drawn[self] ^= __atomic_fetch_add(&ticket_word.next, 1, __ATOMIC_RELAXED);
		advance();
		__atomic_fetch_or(&flag_word.flags, 1UL << self, __ATOMIC_RELAXED);
		__atomic_fetch_add(&count_word.references, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sum_word.total, round, __ATOMIC_RELAXED);
		if (round % 16 == 8)
			sched_yield();
		__atomic_fetch_and(&flag_word.flags, ~(1UL << self), __ATOMIC_RELAXED);
		if (__atomic_fetch_sub(&count_word.references, 1, __ATOMIC_ACQ_REL) == 1)
			freed[self]++;
	}
	return 0;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both, 0, 2);
	for (unsigned long self = 0; self < 2; self++)
		pthread_create(&threads[self], 0, work, (void *)self);
	for (int self = 0; self < 2; self++)
		pthread_join(threads[self], 0);
	return freed[0] + freed[1] > 0;
}
