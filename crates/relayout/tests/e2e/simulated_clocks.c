// Threads take turns at a mutex and sleep. The program says how long that took by its own clock.
#include <pthread.h>
#include <stdio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, LOOPS = 20, SLEEP_NS = 2000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long guarded, inside, violations;

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void *work(void *argument)
{
    for (int i = 0; i < LOOPS; i++) {
        pthread_mutex_lock(&mutex);
        violations += inside++;
        for (volatile int turn = 0; turn < 200; turn++)
            ;
        guarded++;
        inside--;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

int main(void)
{
    long begin = now_ns();
    struct timespec pause = {.tv_nsec = SLEEP_NS};
    nanosleep(&pause, NULL);
    long slept = now_ns() - begin;
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, work, NULL))
            return 1;
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    printf("slept=%ld all=%ld guarded=%ld violations=%ld\n", slept, now_ns() - begin, guarded,
           violations);
    fflush(stdout);
    tcdrain(STDOUT_FILENO);
    return guarded == THREADS * LOOPS ? 0 : 1;
}
