/* Threads count side by side in one struct, a pair of threads after the other, until the process has
 * taken the CPU seconds of the first argument. The second one says what else it does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20000
#include "pair_counts.h"

static int count_until(double seconds)
{
    while (clock() < seconds * CLOCKS_PER_SEC)
        if (count_twice())
            return 99;
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    const char *also = argc > 2 ? argv[2] : "";
    int alone = !strcmp(also, "alone"), status;

    heap = calloc(1, sizeof *heap);
    if (!heap)
        return 98;
    /* Announces no access, and counts at the end only. */
    while (alone && clock() < seconds * CLOCKS_PER_SEC)
        ;
    if (count_twice() || count_until(seconds))
        return 97;
    if (!strcmp(also, "forks")) {
        for (int i = 0; i < 8; i++)
            if (fork() == 0)
                return count_until(seconds / 8);
        while (wait(&status) > 0)
            if (status)
                return 96;
    }
    printf("computed\n");
    fflush(stdout);
    while (!strcmp(also, "on"))
        if (count_twice())
            return 95;
    return 0;
}
