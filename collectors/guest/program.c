// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "program.h"

#include "board.h"
#include "files.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define FOLDER "/run/relayout-"

enum { TEXT_BYTES_MAX = 128 * 1024, TEXTS_MAX = 4096, OUTPUT_BYTES = 4096 };

// Texts of a file, each ended by a NUL.
struct texts {
    char bytes[TEXT_BYTES_MAX];
    char *each[TEXTS_MAX + 1]; // ends with NULL
};

static struct texts arguments, environment, folder, lines;

static int read_texts(const char *path, struct texts *texts)
{
    ssize_t length = file_read(path, texts->bytes, sizeof(texts->bytes));
    if (length < 0)
        return failure("reading %s", path);

    size_t count = 0;
    for (char *at = texts->bytes; at < texts->bytes + length; at += strlen(at) + 1) {
        if (count == TEXTS_MAX)
            return failure_plain("more than %d texts in %s", TEXTS_MAX, path);
        texts->each[count++] = at;
    }
    return 0;
}

static int read_orders(struct window *window)
{
    if (read_texts(FOLDER "arguments", &arguments) < 0 ||
        read_texts(FOLDER "environment", &environment) < 0 ||
        read_texts(FOLDER "folder", &folder) < 0 || read_texts(FOLDER "lines", &lines) < 0)
        return -1;
    if (!arguments.each[0] || !folder.each[0])
        return failure_plain("no program in " FOLDER "arguments");
    for (int i = 0; i < 2 && lines.each[i]; i++)
        if (lines.each[i][0])
            *(i == 0 ? &window->from_line : &window->to_line) = lines.each[i];
    return 0;
}

// A terminal, so that the program writes each line as it ends. Returns its two ends, or -1 after
// failure().
static int open_terminal(int *program_end)
{
    if (mkdir("/dev/pts", 0755) < 0 && errno != EEXIST)
        return failure("mkdir /dev/pts");
    if (mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666") < 0 && errno != EBUSY)
        return failure("mount devpts");
    int end = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (end < 0 || grantpt(end) < 0 || unlockpt(end) < 0)
        return failure("opening a terminal");
    *program_end = open(ptsname(end), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios settings;
    if (*program_end < 0 || tcgetattr(*program_end, &settings) < 0)
        return failure("opening %s", ptsname(end));
    cfmakeraw(&settings);
    return tcsetattr(*program_end, TCSANOW, &settings) < 0 ? failure("tcsetattr") : end;
}

static void execute(int terminal, bool stops)
{
    if (stops && ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        return;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (terminal >= 0 && (dup2(terminal, STDOUT_FILENO) < 0 || dup2(terminal, STDERR_FILENO) < 0))
        return;
    if (chdir(folder.each[0]) == 0)
        execve(arguments.each[0], arguments.each, environment.each);
}

// Starts the program, which stops before its first instruction if it `stops`. An exec that fails comes
// back through a pipe that a good one closes.
static pid_t start(int terminal, bool stops)
{
    int channel[2];
    if (pipe2(channel, O_CLOEXEC) < 0)
        return failure("pipe");
    pid_t pid = fork();
    if (pid < 0)
        return failure("fork");
    if (pid == 0) {
        execute(terminal, stops);
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
    return failure("exec of %s", arguments.each[0]);
}

// Waits until the program has stopped before its first instruction.
static int wait_for_exec(pid_t pid, int signals)
{
    int status;
    if (waitpid(pid, &status, 0) < 0)
        return failure("waiting for the exec of %s", arguments.each[0]);
    if (!WIFSTOPPED(status))
        return failure_plain("%s ended in its exec", arguments.each[0]);
    // The signal of the stop is no end, and would be read in the window.
    struct pollfd end = {.fd = signals, .events = POLLIN};
    struct signalfd_siginfo info;
    if (poll(&end, 1, 0) > 0 && read(signals, &info, sizeof(info)) < 0)
        return failure("reading a signal");
    return 0;
}

// Starts the program, and opens its window if that opens first. Returns its number, or -1 after
// failure().
static pid_t start_in_window(int terminal, int signals, struct window_watch *watch,
                             const struct window *window)
{
    if (!window->after_exec) {
        window_begin(watch, window);
        return start(terminal, false);
    }
    pid_t pid = start(terminal, true);
    if (pid < 0 || wait_for_exec(pid, signals) < 0)
        return -1;
    report("program is process %d", pid);
    window_begin(watch, window);
    return ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0 ? failure("letting the program go") : pid;
}

// Takes leave of the children that have ended. Returns whether `pid` is among them, with its status.
static bool reap_ended(pid_t pid, int *status)
{
    bool has_ended = false;
    int other;
    for (pid_t ended; (ended = waitpid(-1, &other, WNOHANG)) > 0;) {
        if (ended == pid) {
            has_ended = true;
            *status = other;
        }
    }
    return has_ended;
}

// Passes output on to the console. A console that is gone takes none.
static void pass_output(int terminal, struct window_watch *watch)
{
    char text[OUTPUT_BYTES];
    ssize_t size = read(terminal, text, sizeof(text));
    if (size <= 0)
        return;
    for (ssize_t at = 0, n; at < size; at += n)
        if ((n = write(STDOUT_FILENO, text + at, (size_t)(size - at))) <= 0)
            break;
    window_read(watch, text, (uint32_t)size);
}

// Waits until the program has ended or its window is closed. Returns whether it has ended, or -1
// after failure().
static int watch_program(pid_t pid, int signals, int terminal, struct window_watch *watch,
                         int *status)
{
    struct pollfd ends[] = {{.fd = signals, .events = POLLIN}, {.fd = terminal, .events = POLLIN}};
    while (!watch->is_closed) {
        if (poll(ends, 2, window_wait_ms(watch)) < 0 && errno != EINTR)
            return failure("poll");
        window_advance(watch);
        // What it wrote before it ended comes first.
        struct signalfd_siginfo info;
        if (ends[1].revents & POLLIN)
            pass_output(terminal, watch);
        else if (ends[0].revents & POLLIN && read(signals, &info, sizeof(info)) > 0 &&
                 reap_ended(pid, status))
            return 1;
    }
    return 0;
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

static int open_signals(void)
{
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, NULL);
    int signals = signalfd(-1, &ended, SFD_CLOEXEC);
    return signals < 0 ? failure("signalfd") : signals;
}

int program_run(struct window window, unsigned linger_s)
{
    static struct window_watch watch;
    if (read_orders(&window) < 0)
        return -1;
    report("program %s", arguments.each[0]);
    int signals = open_signals();
    int program_end = -1;
    int terminal = window_reads_lines(&window) ? open_terminal(&program_end) : -1;
    if (signals < 0 || (window_reads_lines(&window) && terminal < 0))
        return -1;

    pid_t pid = start_in_window(program_end, signals, &watch, &window);
    if (pid < 0)
        return -1;
    int status = 0;
    int has_ended = watch_program(pid, signals, terminal, &watch, &status);
    if (has_ended < 0)
        return -1;
    if (status != 0)
        report_end(status);
    else if (!watch.is_open)
        return failure_plain("%s ended before its window opened", arguments.each[0]);
    window_end(&watch);
    if (has_ended && status == 0)
        report_end(status);
    sleep(linger_s);
    return 0;
}
