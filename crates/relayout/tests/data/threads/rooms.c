/* Forty rooms of the heap, visited one after the other: two threads count who comes, two who leaves. */
#include "threads.h"

#define ROOMS 40

struct room {
	unsigned long came;
	unsigned long left;
	char name[112];
};

static struct room *rooms[ROOMS];

static void run(long number)
{
	for (long i = 0; i < rounds; i++) {
		struct room *room = rooms[i * ROOMS / rounds];

		each_round();
		if (number % 2)
			room->left++;
		else
			room->came++;
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
