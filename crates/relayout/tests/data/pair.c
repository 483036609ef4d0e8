/* Two members that two threads use: each its own ("apart"), or both by turns ("together"). */
#include <pthread.h>
#include <sched.h>
#include <string.h>

struct pair {
	unsigned long head;
	unsigned long tail;
#ifdef DEBUG
	char debug[48];
#endif
	unsigned long limit;
};

static struct pair pair __attribute__((aligned(64))) = { .limit = 20000 };
static volatile unsigned long turn __attribute__((aligned(64)));

static unsigned long rounds;
static int is_apart;

/* Each thread's turn comes after the other's, whatever else the machine does. */
static void *work(void *which)
{
	volatile unsigned long *own = which ? &pair.tail : &pair.head;
	volatile unsigned long *other = which ? &pair.head : &pair.tail;

	for (unsigned long i = 0; i < rounds; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != (which != NULL))
			sched_yield();
		++*own;
		if (!is_apart)
			++*other;
		__atomic_store_n(&turn, which == NULL, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	is_apart = argc > 1 && !strcmp(argv[1], "apart");
	rounds = is_apart ? 1000 : 150;
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return pair.limit != 20000;
}
