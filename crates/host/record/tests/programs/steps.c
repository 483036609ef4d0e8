/* Two threads add to a word, with a known number of instructions between. */
#include <pthread.h>
#include <stdlib.h>

long shared_word __attribute__((aligned(64)));
static long turns __attribute__((aligned(64)));

static void *step(void *unused)
{
    for (int i = 0; i < 2000; i++) {
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
