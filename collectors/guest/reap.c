// SPDX-License-Identifier: MIT OR Apache-2.0
#include "reap.h"

#include "board.h"

#include <errno.h>
#include <sys/wait.h>

int reap_until(pid_t pid)
{
    int status;
    pid_t ended;
    while ((ended = wait(&status)) != pid)
        if (ended < 0 && errno != EINTR)
            return failure("wait for process %d", (int)pid);
    return status;
}
