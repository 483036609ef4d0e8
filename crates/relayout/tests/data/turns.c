/* Two threads use one struct in turns, as often as the argument says: what moves is the same in each run. */
#include <pthread.h>
#include <stdlib.h>

struct conn {
	unsigned long hits;
	unsigned long limit;
	unsigned long bytes;
	int state;
	char name[32];
	unsigned long errors;
	unsigned long config;
};

static struct conn *shared;
static pthread_barrier_t both;
static long turns;

static __attribute__((noinline)) void count(struct conn *conn)
{
	conn->hits++;
	conn->bytes += 7;
}

static __attribute__((noinline)) unsigned long look(struct conn *conn)
{
	conn->state = 1;
	return conn->limit + conn->config;
}

static void *work(void *which)
{
	long own = (long)which;

	for (long turn = 0; turn < turns; turn++) {
		if (turn % 2 == own) {
			if (own)
				look(shared);
			else
				count(shared);
		}
		pthread_barrier_wait(&both);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t one, other;

	turns = argc > 1 ? atol(argv[1]) : 0;
	shared = aligned_alloc(64, 128);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&one, NULL, work, (void *)0);
	pthread_create(&other, NULL, work, (void *)1);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
