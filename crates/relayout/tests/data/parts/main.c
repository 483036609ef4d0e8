#include <pthread.h>
#include <stdio.h>

#include "parts.h"

static struct pair pair;
/* Threads keep in step, so that they meet on a busy machine too. */
static pthread_barrier_t step;

static void *other(void *unused)
{
    for (int round = 0; round < 100; round++) {
        pthread_barrier_wait(&step);
        count_right(&pair);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;

    if (pthread_barrier_init(&step, NULL, 2) || pthread_create(&thread, NULL, other, NULL))
        return 1;
    for (int round = 0; round < 100; round++) {
        pthread_barrier_wait(&step);
        count_left(&pair);
    }
    pthread_join(thread, NULL);
    printf("%ld\n", pair.left + pair.right);
    return 0;
}
