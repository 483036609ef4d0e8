/* Objects of a pool, operations and a window, by relayout.h. */
#include <relayout.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	long a, b;
};

static char pool[4096] __attribute__((aligned(64)));
static long outside[8] __attribute__((aligned(64)));
static struct pair *pair;

static void *run(void *argument)
{
	long *own = argument;
	for (int i = 0; i < 20000; i++) {
		++*own;
		if (i % 100 == 0)
			relayout_operation();
	}
	return NULL;
}

static void fight(long *a, long *b)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, run, a);
	pthread_create(&threads[1], NULL, run, b);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
	(void)argv;
	pair = (struct pair *)(pool + 128);
	relayout_object(pair, sizeof *pair, "struct pair");
	relayout_array(pool + 1024, 16, sizeof(struct pair), "struct pair");
	fight(&outside[0], &outside[1]);
	if (argc > 1)
		relayout_start();
	fight(&pair->a, &pair->b);
	relayout_forget(pair);
	struct pair *elements = (struct pair *)(pool + 1024);
	fight(&elements[4].a, &elements[5].b);
	if (argc > 1)
		relayout_stop();
	fight(&outside[2], &outside[3]);
	printf("pair %p\narray %p\noutside %p\n", (void *)pair, (void *)elements, (void *)outside);
	return 0;
}
