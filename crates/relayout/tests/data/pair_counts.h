/* Two threads count in one struct, side by side: in a variable and on the heap. */
#include <pthread.h>
#include <stdlib.h>

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

    for (int i = 0; i < ROUNDS; i++) {
        if (i % 1000 == 0)
            pthread_barrier_wait(&step);
        __atomic_fetch_add(own, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(of_heap, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Counts in this thread and another one; 0 if that was possible. */
static int count_twice(void)
{
    pthread_t thread;

    if (pthread_barrier_init(&step, NULL, 2) || pthread_create(&thread, NULL, count, &pair))
        return 99;
    count(NULL);
    return pthread_join(thread, NULL) ? 99 : 0;
}
