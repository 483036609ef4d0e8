/* Does its work, and then waits for ever. */
#include "threads.c"

int main(void)
{
    two_threads();
    for (;;)
        pause();
}
