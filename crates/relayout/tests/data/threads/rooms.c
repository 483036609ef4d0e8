/* Forty rooms of the heap, which all threads visit together, one after the other: one counts who comes, one
 * who leaves, and two look on. */
#include "threads.h"

#define ROOMS 40

struct room {
	unsigned long came;
	unsigned long left;
	char name[112];
};

static struct room *rooms[ROOMS];

static void visit(struct room *room, long number)
{
	for (long i = 0; i < rounds / 10; i++) {
		each_round();
		if (number == 0)
			room->came++;
		else if (number == 1)
			room->left++;
	}
}

static void run(long number)
{
	for (int i = 0; i < ROOMS; i++) {
		pthread_barrier_wait(&together);
		visit(rooms[i], number);
	}
}

int main(int count, char **words)
{
	unsigned long sum = 0;

	for (int i = 0; i < ROOMS; i++)
		rooms[i] = calloc(1, sizeof(struct room));
	run_threads(count, words);
	for (int i = 0; i < ROOMS; i++) {
		sum += rooms[i]->came + rooms[i]->left;
		free(rooms[i]);
	}
	printf("%lu\n", sum);
	return 0;
}
