/* Two threads count in one struct, side by side; what the first argument says comes after that. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pair {
    long left;
    long right;
};

static struct pair pair;
static struct pair *heap;
/* Threads keep in step, so that they meet on a busy machine too. */
static pthread_barrier_t step;

static void *count(void *member)
{
    long *own = member ? &pair.left : &pair.right;
    long *of_heap = member ? &heap->left : &heap->right;

    for (int i = 0; i < 100000; i++) {
        if (i % 1000 == 0)
            pthread_barrier_wait(&step);
        __atomic_fetch_add(own, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(of_heap, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    if (write(1, "told to end\n", 12) < 0)
        _exit(98);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *then = argc > 1 ? argv[1] : "";
    pthread_t thread;
    char line[64];

    if (!strcmp(then, "wait")) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    heap = malloc(sizeof *heap);
    if (!heap)
        return 99;
    memset(heap, 0, sizeof *heap);
    if (pthread_barrier_init(&step, NULL, 2) || pthread_create(&thread, NULL, count, &pair))
        return 99;
    count(NULL);
    pthread_join(thread, NULL);
    printf("%ld\n", pair.left + pair.right);
    fflush(stdout);
    if (!strcmp(then, "abort"))
        abort();
    if (!strcmp(then, "crash"))
        *(volatile long *)8 = 1;
    if (!strcmp(then, "kill"))
        raise(SIGKILL);
    if (!strcmp(then, "fail"))
        return 7;
    if (!strcmp(then, "echo") && fgets(line, sizeof line, stdin))
        fprintf(stderr, "read %s", line);
    if (!strcmp(then, "wait")) {
        printf("waiting\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    return 0;
}
