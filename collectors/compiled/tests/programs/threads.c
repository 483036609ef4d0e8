/* Many threads one after the other, some at once; each names itself. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

static void at_end(void *value)
{
	pthread_mutex_lock(&lock);
	sum += (long)value;
	pthread_mutex_unlock(&lock);
}

static void *run(void *argument)
{
	char name[16];
	snprintf(name, sizeof name, "worker %ld", (long)argument);
	pthread_setname_np(pthread_self(), name);
	pthread_setspecific(key, (void *)1);
	pthread_mutex_lock(&lock);
	sum++;
	pthread_mutex_unlock(&lock);
	if ((long)argument % 2)
		pthread_exit(NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[1]), at_once = atoi(argv[2]);
	pthread_t threads[128];
	pthread_attr_t small;
	(void)argc;
	pthread_key_create(&key, at_end);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32 * 1024);
	for (int round = 0; round < rounds; round++) {
		for (long i = 0; i < at_once; i++)
			if (pthread_create(&threads[i], &small, run, (void *)(round * at_once + i)))
				return 1;
		for (int i = 0; i < at_once; i++)
			pthread_join(threads[i], NULL);
	}
	printf("sum %ld\nlock %p\n", sum, (void *)&lock);
	return 0;
}
