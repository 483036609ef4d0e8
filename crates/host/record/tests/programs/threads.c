/* What programs do with threads, processes and signals: each mode by its name. In all of them two
 * threads count beside each other on one line. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct pair {
    volatile long left, right;
} shared_pair __attribute__((aligned(64)));

static __thread volatile long own;

static int threads_there;

/* Both begin together, however long it takes to start them. */
static void *count_together(void *place)
{
    __atomic_add_fetch(&threads_there, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&threads_there, __ATOMIC_SEQ_CST) < 2)
        sched_yield();
    volatile long *n = place;
    for (int i = 0; i < 300000; i++) {
        ++*n;
        ++own;
    }
    return 0;
}

static void *count(void *place)
{
    volatile long *n = place;
    for (int i = 0; i < 100000; i++) {
        ++*n;
        ++own;
    }
    return 0;
}

static void *count_for_ever(void *place)
{
    prctl(PR_SET_NAME, "for-ever");
    for (volatile long *n = place;; ++*n)
        ;
}

static void *count_and_exit(void *place)
{
    count(place);
    exit(7);
}

static void start(pthread_t *thread, void *(*run)(void *), int n)
{
    volatile long *place = n % 2 ? &shared_pair.right : &shared_pair.left;
    if (pthread_create(thread, 0, run, (void *)place))
        abort();
}

static void two_threads(void)
{
    pthread_t threads[2];
    threads_there = 0;
    for (int n = 0; n < 2; n++)
        start(&threads[n], count_together, n);
    for (int n = 0; n < 2; n++)
        pthread_join(threads[n], 0);
}

/* Until each has counted for a while beside the other. */
static void two_for_ever(void)
{
    pthread_t thread;
    for (int n = 0; n < 2; n++)
        start(&thread, count_for_ever, n);
    while (!shared_pair.left || !shared_pair.right)
        usleep(1000);
    long left = shared_pair.left, right = shared_pair.right;
    while (shared_pair.left < left + 300000 || shared_pair.right < right + 300000)
        usleep(1000);
}

static void come_and_go(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t threads[4];
        for (int n = 0; n < 4; n++)
            start(&threads[n], count, n);
        for (int n = 0; n < 4; n++)
            pthread_join(threads[n], 0);
    }
}

static void *count_and_stay(void *place)
{
    volatile long *n = place;
    for (int i = 0; i < 1000; i++)
        ++*n;
    __atomic_add_fetch(&threads_there, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
}

/* With the first thread, 13 more than are recorded at a time. */
static void crowd(void)
{
    pthread_t thread;
    for (int n = 0; n < 1036; n++)
        start(&thread, count_and_stay, n);
    while (__atomic_load_n(&threads_there, __ATOMIC_SEQ_CST) < 1036)
        usleep(1000);
    exit(0);
}

static void fork_child(void)
{
    two_threads();
    pid_t child = fork();
    if (child == 0) {
        two_threads();
        exit(3);
    }
    int status;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 3)
        exit(1);
    two_threads();
}

/* As daemons do; then other files get the numbers. */
static void close_all(void)
{
    two_threads();
    int end = sysconf(_SC_OPEN_MAX) < 1 << 16 ? sysconf(_SC_OPEN_MAX) : 1 << 16;
    for (int n = 3; n < end; n++)
        close(n);
    for (int n = end - 128; n < end; n++)
        dup2(2, n);
    two_threads();
}

static void handle(int signal)
{
    shared_pair.left++;
}

static void signals(void)
{
    signal(SIGUSR1, handle);
    two_for_ever();
    for (int i = 0; i < 100; i++)
        kill(getpid(), SIGUSR1);
    exit(0);
}

static void marker_start(void)
{
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0, 1, 0, 0x4c, 0x52");
}

static void marker_stop(void)
{
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0, 2, 0, 0x4c, 0x52");
}

static void marker_operation(void)
{
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0, 3, 0, 0x4c, 0x52");
}
