/* Structs that end in an array of one element, allocated with room for more of them, as C before C99 and
 * C++ write it; and an array of such structs, whose last arrays are as long as declared. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

struct point { long x, y; };
struct sums { long count; long data[1]; };
struct track { long count; struct point points[1]; };
struct table { long count; struct point *rows[1]; };
struct names { int used; short codes[1]; };
struct lone { long count; long data[1]; };

static struct sums *odd, *even, *single[THREADS];
static struct track *track;
static struct table *table;
static struct names *names;
static struct lone *lone;
static long rounds = 4000;

static void *work(void *argument)
{
	long n = (long)argument;

	for (long i = 0; i < rounds; i++) {
		odd->data[n] += i;
		even->data[n] += i;
		single[n]->data[0] += i;
		track->points[n].x += i;
		track->points[n].y++;
		table->rows[n]->x += i;
		names->codes[n] += (short)i;
		lone[n].data[0] += i;
		lone[n].count++;
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1)
		rounds = atol(argv[1]);
	odd = calloc(1, sizeof *odd + (THREADS - 1) * sizeof(long));              /* odd */
	even = calloc(1, sizeof *even + THREADS * sizeof(long));                  /* even */
	track = calloc(1, sizeof *track + (THREADS - 1) * sizeof(struct point));  /* track */
	table = calloc(1, sizeof *table + (THREADS - 1) * sizeof(void *));        /* table */
	names = calloc(1, sizeof *names + (THREADS - 1) * sizeof(short));         /* names */
	lone = calloc(THREADS, sizeof *lone);                                     /* lone */
	for (int i = 0; i < THREADS; i++) {
		single[i] = calloc(1, sizeof **single);                           /* single */
		table->rows[i] = calloc(1, sizeof(struct point));                 /* a point */
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", odd->data[0]);
	return 0;
}
