/* Two threads open and close files of one table, and execute a known number of instructions between. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "marker.h"

static long turns;

static void *work(void *unused)
{
    for (int i = 0; i < 300; i++) {
        long left = turns;

        if (close(dup(0)))
            abort();
        __asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
        MARKER(MARKER_OPERATION);
    }
    return unused;
}

int main(int count, char **words)
{
    pthread_t thread;

    turns = count > 1 ? atol(words[1]) : 1;
    MARKER(MARKER_START);
    if (pthread_create(&thread, NULL, work, NULL))
        return 1;
    work(NULL);
    if (pthread_join(thread, NULL))
        return 1;
    MARKER(MARKER_STOP);
    return 0;
}
