/* Two threads write their own counter on one line, and take a mutex on the next. They wait for each
 * other now and then, so that they take turns on a busy machine too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 100000, LOCK_EACH = 16, MEET_EACH = 1000 };

struct shared {
	long own[2];
	long pad[6];
	pthread_mutex_t lock;
	long guarded;
};

static struct shared *shared;
static pthread_barrier_t together;

static void *run(void *argument)
{
	long *own = argument;
	for (int i = 0; i < ROUNDS; i++) {
		if (i % MEET_EACH == 0)
			pthread_barrier_wait(&together);
		++*own;
		if (i % LOCK_EACH == 0) {
			pthread_mutex_lock(&shared->lock);
			shared->guarded++;
			pthread_mutex_unlock(&shared->lock);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	shared = aligned_alloc(64, 192);
	shared->own[0] = shared->own[1] = shared->guarded = 0;
	pthread_barrier_init(&together, NULL, 2);
	pthread_mutex_init(&shared->lock, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, &shared->own[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("shared %p\nsum %ld\nguarded %ld\n", (void *)shared, shared->own[0] + shared->own[1],
	       shared->guarded);
	return 0;
}
