/* Memory of equal sizes that goes from one use to the next: objects that a setup needs and frees, before the
 * ones that threads share take their places; and objects of one size by one helper. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

struct option { struct option *next; char *name; long value; int seen; };
struct worker { long done; long failed; struct worker *peer; double load; };
struct job { struct job *next; struct worker *owner; unsigned long bytes; unsigned int kind, state; };
struct stat { long sum; long count; };

static struct worker *workers[THREADS];
static struct job *jobs[THREADS];
static long *totals;
static struct stat *stats;
static long rounds = 4000;

static __attribute__((noinline)) void *object_new(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		abort();
	return memset(memory, 0, bytes);
}

static struct option *read_options(void)
{
	struct option *first = NULL;

	for (int i = 0; i < 8; i++) {
		struct option *option = object_new(sizeof *option);           /* an option */

		option->next = first;
		option->name = (char *)option;
		option->value = i;
		first = option;
	}
	return first;
}

static long free_options(struct option *option)
{
	long sum = 0;

	while (option) {
		struct option *next = option->next;

		sum += option->value + ++option->seen;
		free(option);
		option = next;
	}
	return sum;
}

static void *work(void *argument)
{
	long n = (long)argument;
	struct worker *worker = workers[n];
	struct job *job = jobs[n];

	for (long i = 0; i < rounds; i++) {
		worker->done++;
		worker->load += 0.5;
		job->bytes += i;
		job->state = (unsigned int)i;
		totals[n] += i;
		stats[n].sum += i;
		stats[n].count++;
		__asm__ volatile("" ::: "memory");
	}
	worker->peer->failed++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	long sum;

	if (argc > 1)
		rounds = atol(argv[1]);
	sum = free_options(read_options());
	for (int i = 0; i < THREADS; i++) {
		workers[i] = object_new(sizeof *workers[i]);                  /* a worker */
		jobs[i] = object_new(sizeof *jobs[i]);                        /* a job */
		jobs[i]->owner = workers[i];
	}
	totals = object_new(THREADS * sizeof *totals);                        /* totals */
	stats = object_new(THREADS * sizeof *stats);                          /* stats */
	for (int i = 0; i < THREADS; i++)
		workers[i]->peer = workers[(i + 1) % THREADS];
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return sum + totals[0] + stats[0].sum == 0;
}
