#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct stats {
	atomic_ulong hits, misses;
};

static struct stats stats;

static void *count_misses(void *unused)
{
	while (stats.misses < 20000000)
		stats.misses++;
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, count_misses, NULL);
	while (stats.hits < 20000000)
		stats.hits++;
	pthread_join(thread, NULL);
	printf("%lu hits, %lu misses\n", stats.hits, stats.misses);
	return 0;
}
