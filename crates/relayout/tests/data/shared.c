/* Two threads count in one struct, side by side; what the first argument says comes after that. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 100000
#include "pair_counts.h"

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
    char line[64];

    if (!strcmp(then, "wait")) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    heap = calloc(1, sizeof *heap);
    int times = !strcmp(then, "often") ? 30 : 1;

    for (int i = 0; i < times; i++)
        if (!heap || count_twice())
            return 99;
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
