/* A line that is mostly truly shared: in three turns of four, a thread adds to `total`. In each turn it counts in a
 * word of its own too, so the fourth turn moves the line for nothing: another layout saves a quarter. */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

struct tally {
	unsigned long total;
	unsigned long left;
	unsigned long right;
	char cold[232];
};

static struct tally tally __attribute__((aligned(64)));
static volatile unsigned long turn __attribute__((aligned(64)));

/* Each thread's turn comes after the other's, whatever else the machine does. */
static void *work(void *which)
{
	volatile unsigned long *own = which ? &tally.right : &tally.left;
	volatile unsigned long *total = &tally.total;

	for (unsigned long i = 0; i < 900; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != (which != NULL))
			sched_yield();
		++*own;
		if (i % 4)
			++*total;
		__atomic_store_n(&turn, which == NULL, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return tally.total != 1350;
}
