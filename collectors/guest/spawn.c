// SPDX-License-Identifier: MIT OR Apache-2.0
#include "spawn.h"

#include "board.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

int spawn_true(const char *program)
{
    pid_t pid = fork();
    if (pid < 0)
        return failure("fork");
    if (pid == 0) {
        execl(program, program, "true", (char *)NULL);
        failure("exec of %s", program);
        _exit(1);
    }

    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return failure("waitpid");
    if (status != 0)
        return failure_plain("child ended with wait status %#x", (unsigned)status);
    return 0;
}
