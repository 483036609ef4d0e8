/* Recorded from one marker to the other. */
#include "threads.c"

int main(int argc, char **argv)
{
    if (argc > 1)
        return 0; /* before the marker */
    two_threads();
    marker_start();
    two_threads();
    for (int i = 0; i < 10; i++)
        marker_operation();
    marker_stop();
    two_threads();
    return 0;
}
