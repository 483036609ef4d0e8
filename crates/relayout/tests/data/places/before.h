/* Other allocations before those that matter: BYTES COUNT on the command line, behind the rounds. */
#ifndef BEFORE_H
#define BEFORE_H

#include <stdlib.h>

/* Keeps the compiler from leaving an allocation out. */
static void *volatile kept;

static void allocate_before(int count, char **words)
{
	long bytes = count > 2 ? atol(words[2]) : 0;
	long times = count > 3 ? atol(words[3]) : 1;

	for (long i = 0; bytes > 0 && i < times; i++)
		kept = malloc(bytes);
}

/* Has the threads of a C program wait for each other, so that they take turns on a busy machine too. */
#define take_turns(round) ((round) % 32 == 0 ? (void)pthread_barrier_wait(&together) : (void)0)

#endif
