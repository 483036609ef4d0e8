/* Two threads add to a word, with a known number of instructions between. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

long shared_word __attribute__((aligned(64)));
static long turns __attribute__((aligned(64)));
static int threads_there __attribute__((aligned(64)));

static void *step(void *unused)
{
    __atomic_add_fetch(&threads_there, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&threads_there, __ATOMIC_SEQ_CST) < 2)
        sched_yield();
    for (int i = 0; i < 20000; i++) {
        long left = turns;

        __atomic_add_fetch(&shared_word, 1, __ATOMIC_SEQ_CST);
        __asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
    }
    return unused;
}

int main(int count, char **words)
{
    pthread_t threads[2];

    turns = count > 1 ? atol(words[1]) : 1;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, step, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
