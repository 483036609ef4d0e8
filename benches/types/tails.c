/* Structs that end in an array whose length the allocation decides, in all the forms that C programs use,
 * and arrays of structs and of numbers beside them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

struct log { int size; long entries[]; };
struct wide { long size; long limit; long entries[]; };
struct pairs { long count; struct { long key, value; } items[]; };
struct old { long count; long data[1]; };
struct zero { int kind; int used; int slots[0]; };
struct marked { int first[0]; int a, b; int second[0]; long c; };
struct row { long sum; long low, high; };
union cell { long number; double real; };

static struct log *logs;
static struct wide *wide;
static struct pairs *pairs;
static struct old *old;
static struct zero *zero;
static struct marked *marked;
static struct row *rows;
static union cell *cells;
static long *numbers;
static double **tables;
static long rounds = 4000;

static void *work(void *argument)
{
	long n = (long)argument;
	volatile long *entry = &logs->entries[n];

	for (long i = 0; i < rounds; i++) {
		*entry = *entry + 1;
		wide->entries[n] += i;
		pairs->items[n].value += i;
		pairs->items[n].key++;
		old->data[n] += i;
		zero->slots[n] += (int)i;
		marked->a += (int)i;
		marked->c++;
		rows[n].sum += i;
		rows[n].high = i;
		cells[n].real += 0.5;
		numbers[n] += i;
		tables[n][n] += 0.25;
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

static void *zeroed(size_t bytes)
{
	void *memory = malloc(bytes);

	return memory ? memset(memory, 0, bytes) : NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1)
		rounds = atol(argv[1]);
	logs = calloc(1, sizeof *logs + THREADS * sizeof(long));                  /* logs */
	wide = zeroed(sizeof *wide + THREADS * sizeof(long));                     /* wide */
	pairs = calloc(1, sizeof *pairs + THREADS * sizeof pairs->items[0]);      /* pairs */
	old = calloc(1, sizeof *old + (THREADS - 1) * sizeof(long));              /* old */
	zero = zeroed(sizeof *zero + THREADS * sizeof(int));                      /* zero */
	marked = calloc(1, sizeof *marked);                                       /* marked */
	rows = calloc(THREADS, sizeof *rows);                                     /* rows */
	cells = calloc(THREADS, sizeof *cells);                                   /* cells */
	numbers = calloc(THREADS, sizeof *numbers);                               /* numbers */
	tables = malloc(THREADS * sizeof *tables);                                /* tables */
	for (int i = 0; i < THREADS; i++)
		tables[i] = zeroed(THREADS * sizeof **tables);                    /* a table */
	logs->size = wide->size = zero->used = THREADS;
	pairs->count = old->count = wide->limit = THREADS;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", logs->entries[0]);
	return 0;
}
