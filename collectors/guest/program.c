// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "program.h"

#include "board.h"
#include "files.h"
#include "marker.h"
#include "reap.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/run-program"
#define ARGUMENTS "/run-args"

enum { ARGUMENTS_BYTES_MAX = 128 * 1024, ARGUMENTS_MAX = 4096 };

static char text[ARGUMENTS_BYTES_MAX];
static char *arguments[ARGUMENTS_MAX + 2] = {PROGRAM};

static int read_arguments(void)
{
    ssize_t length = file_read(ARGUMENTS, text, sizeof(text));
    if (length < 0 && errno == ENOENT)
        return 0;
    if (length < 0)
        return failure("reading %s", ARGUMENTS);

    size_t count = 1;
    for (char *at = text; at < text + length; at += strlen(at) + 1) {
        if (count > ARGUMENTS_MAX)
            return failure_plain("more than %d arguments in %s", ARGUMENTS_MAX, ARGUMENTS);
        arguments[count++] = at;
    }
    return 0;
}

// Starts the program. An exec that fails comes back through a pipe that a good one closes.
static pid_t start(void)
{
    int channel[2];
    if (pipe2(channel, O_CLOEXEC) < 0)
        return failure("pipe");
    pid_t pid = fork();
    if (pid < 0)
        return failure("fork");
    if (pid == 0) {
        execv(PROGRAM, arguments);
        int error = errno;
        if (write(channel[1], &error, sizeof(error)) != sizeof(error))
            _exit(126);
        _exit(127);
    }

    int error = 0;
    close(channel[1]);
    ssize_t n = read(channel[0], &error, sizeof(error));
    close(channel[0]);
    if (n == 0)
        return pid;
    errno = n < 0 ? errno : error;
    return failure("exec of %s", PROGRAM);
}

static void report_end(int status)
{
    // The program's last line may not have ended. A console that is gone takes no report either.
    if (write(STDOUT_FILENO, "\n", 1) < 0)
        return;
    if (WIFSIGNALED(status))
        report("program killed by signal %d", WTERMSIG(status));
    else
        report("program exited with status %d", WEXITSTATUS(status));
}

int program_run(unsigned linger_s)
{
    if (read_arguments() < 0)
        return -1;
    report("program %s", PROGRAM);

    MARKER(MARKER_START_DEFAULT);
    pid_t pid = start();
    if (pid < 0)
        return -1;
    int status = reap_until(pid);
    if (status < 0)
        return -1;
    if (status != 0)
        report_end(status);
    MARKER(MARKER_STOP_DEFAULT);
    if (status == 0)
        report_end(status);
    sleep(linger_s);
    return 0;
}
