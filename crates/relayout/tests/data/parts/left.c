#include "parts.h"

void count_left(struct pair *pair)
{
    for (int i = 0; i < 1000; i++)
        __atomic_fetch_add(&pair->left, 1, __ATOMIC_RELAXED);
}
