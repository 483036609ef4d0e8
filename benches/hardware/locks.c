/* Threads count under the mutex of a bucket, and look at a setting that lies beside a count of all.
 * locks [ROUNDS [BUCKETS [TURNS]]]: each holds a mutex for so many turns of a loop. */
#include <pthread.h>
#include <stdlib.h>

struct bucket {
	pthread_mutex_t mutex;
	long count;
} __attribute__((aligned(64)));

struct table {
	struct bucket buckets[8];
	long served;
	long setting;
} table __attribute__((aligned(64)));

static long rounds;
static unsigned long buckets = 8;
static long held;

static void *work(void *number)
{
	unsigned long draw = (unsigned long)number * 7919 + 1, sum = 0;

	for (long i = 0; i < rounds; i++) {
		struct bucket *bucket;

		draw = draw * 6364136223846793005ul + 1442695040888963407ul;
		bucket = &table.buckets[(draw >> 40) % buckets];
		pthread_mutex_lock(&bucket->mutex);
		bucket->count++;
		for (volatile int turn = 0; turn < held; turn++)
			;
		pthread_mutex_unlock(&bucket->mutex);
		sum += (unsigned long)*(volatile long *)&table.setting;
		__atomic_fetch_add(&table.served, 1, __ATOMIC_RELAXED);
		for (volatile int turn = 0; turn < 20; turn++)
			;
	}
	return (void *)sum;
}

int main(int count, char **words)
{
	pthread_t threads[4];

	rounds = count > 1 ? atol(words[1]) : 3000;
	if (count > 2 && atol(words[2]) > 0 && atol(words[2]) < 8)
		buckets = (unsigned long)atol(words[2]);
	held = count > 3 ? atol(words[3]) : 0;
	for (int i = 0; i < 8; i++)
		pthread_mutex_init(&table.buckets[i].mutex, NULL);
	for (long i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
