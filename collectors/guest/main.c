// SPDX-License-Identifier: MIT OR Apache-2.0
//
// relayout-guest: the guest's init, and its workloads as an ordinary program.
//
//     relayout-guest list                                  names, defaults and descriptions
//     relayout-guest run NAME [THREADS [ITERATIONS [SEED [BROKEN]]]]   runs a workload on this machine
#include "board.h"
#include "execl.h"
#include "init.h"
#include "orders.h"
#include "report.h"
#include "runner.h"
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int list(void)
{
    for (const struct workload *const *each = workloads; *each; each++)
        printf("%s\t%" PRIu64 "\t%s; an operation is %s\n", (*each)->name, (*each)->iterations,
               (*each)->summary, (*each)->operation);
    return fflush(stdout) == 0 ? 0 : 1;
}

static int run(int count, char **values)
{
    static const char *const keys[] = {"workload", "threads", "iterations", "seed", "broken"};
    struct orders orders = orders_default();
    for (int i = 0; i < count; i++) {
        if (orders_set(&orders, keys[i], values[i]) < 0) {
            report("failed: %s", board_failure());
            return 2;
        }
    }
    return runner_run(&orders, 0);
}

int main(int argc, char **argv)
{
    // The kernel starts the initramfs' program by this name.
    if (getpid() == 1 && strcmp(argv[0], "/init") == 0)
        init_main();

    const char *command = argc > 1 ? argv[1] : "";
    if (argc == 2 && strcmp(command, "true") == 0)
        return 0;
    if (argc == 2 && strcmp(command, "list") == 0)
        return list();
    if (argc >= 3 && argc <= 7 && strcmp(command, "run") == 0)
        return run(argc - 2, argv + 2);
    if (argc == EXECL_ARGC && strcmp(command, EXECL_COMMAND) == 0)
        return execl_continue(argv);
    fprintf(stderr, "usage: relayout-guest list\n"
                    "       relayout-guest run NAME [THREADS [ITERATIONS [SEED [BROKEN]]]]\n");
    return 2;
}
