/* One thread only stores to a word, another one only loads it. Nothing else uses the word's line. */
#include <pthread.h>
#include <sched.h>

volatile long shared_word __attribute__((aligned(64)));
static int threads_there __attribute__((aligned(64)));

static void await_both(void)
{
    __atomic_add_fetch(&threads_there, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&threads_there, __ATOMIC_SEQ_CST) < 2)
        sched_yield();
}

static void *store(void *unused)
{
    await_both();
    for (long i = 0; i < 100000; i++)
        shared_word = i;
    return unused;
}

static void *load(void *unused)
{
    await_both();
    for (long i = 0; i < 100000; i++)
        (void)shared_word;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, store, 0);
    pthread_create(&threads[1], 0, load, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
