#include <atomic>

#include "parts.h"

void count_right(struct pair *pair)
{
    for (int i = 0; i < 1000; i++)
        __atomic_fetch_add(&pair->right, 1, __ATOMIC_RELAXED);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}
