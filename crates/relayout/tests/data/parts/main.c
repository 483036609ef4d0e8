#include <pthread.h>
#include <stdio.h>

#include "parts.h"

static struct pair pair;

static void *other(void *unused)
{
    count_right(&pair);
    return unused;
}

int main(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, other, NULL))
        return 1;
    count_left(&pair);
    pthread_join(thread, NULL);
    printf("%ld\n", pair.left + pair.right);
    return 0;
}
