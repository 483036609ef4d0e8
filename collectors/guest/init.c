// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "init.h"

#include "board.h"
#include "disks.h"
#include "files.h"
#include "modules.h"
#include "orders.h"
#include "program.h"
#include "reap.h"
#include "report.h"
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// How long the machine stays as it was when the window closed; the host ends it before.
enum { LINGER_S = 5 };

// A folder for temporary files, unless the user's files are there.
static int mount_temporary(const char *target)
{
    if (mkdir(target, 01777) < 0)
        return errno == EEXIST ? 0 : failure("mkdir %s", target);
    return mount("tmpfs", target, "tmpfs", 0, NULL) < 0 ? failure("mount tmpfs on %s", target) : 0;
}

static int mount_at(const char *type, const char *target)
{
    if (mkdir(target, 0755) < 0 && errno != EEXIST)
        return failure("mkdir %s", target);
    // EBUSY: the kernel was configured to mount it itself.
    if (mount(type, target, type, 0, NULL) < 0 && errno != EBUSY)
        return failure("mount %s on %s", type, target);
    return 0;
}

static int open_console(void)
{
    int fd = open("/dev/console", O_RDWR);
    if (fd < 0)
        return failure("open /dev/console");
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++)
        if (dup2(fd, standard) < 0)
            return failure("dup2 of the console");
    if (fd > STDERR_FILENO)
        close(fd);
    return 0;
}

static int loopback_up(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return failure("socket for the loopback interface");

    struct ifreq request = {.ifr_name = "lo"};
    int status = ioctl(fd, SIOCGIFFLAGS, &request);
    if (status == 0) {
        request.ifr_flags |= IFF_UP | IFF_RUNNING;
        status = ioctl(fd, SIOCSIFFLAGS, &request);
    }
    if (status < 0)
        failure("bringing up the loopback interface");
    close(fd);
    return status;
}

static int bring_up(void)
{
    if (mount_at("devtmpfs", "/dev") < 0 || open_console() < 0)
        return -1;
    if (mount_at("proc", "/proc") < 0 || mount_at("sysfs", "/sys") < 0 ||
        mount_at("cgroup2", "/sys/fs/cgroup") < 0)
        return -1;
    return loopback_up();
}

static int read_orders(struct orders *orders)
{
    static char command_line[8192];
    if (file_read("/proc/cmdline", command_line, sizeof(command_line)) < 0)
        return failure("reading /proc/cmdline");
    *orders = orders_default();
    return orders_parse(orders, command_line);
}

// In a child, so that whatever becomes of the workload, this process is there to tell.
static int run_workload(const struct orders *orders)
{
    pid_t pid = fork();
    if (pid < 0)
        return failure("fork");
    if (pid == 0)
        _exit(runner_run(orders, LINGER_S));

    int status = reap_until(pid);
    if (status < 0)
        return -1;
    if (WIFSIGNALED(status))
        return failure_plain("workload killed by signal %d (%s)", WTERMSIG(status),
                             strsignal(WTERMSIG(status)));
    // 1: the runner said why.
    if (WEXITSTATUS(status) > 1)
        return failure_plain("workload exited with status %d", WEXITSTATUS(status));
    return 0;
}

static void power_off(void) __attribute__((noreturn));
static void power_off(void)
{
    sync();
    reboot(RB_POWER_OFF);
    report("failed: power-off (%s)", strerror(errno));
    for (;;)
        pause();
}

void init_main(void)
{
    struct orders orders;
    int status = bring_up();
    if (status == 0) {
        report("ready");
        status = read_orders(&orders);
    }
    if (status == 0)
        status = modules_load();
    if (status == 0)
        status = disks_mount();
    if (status == 0)
        status = mount_temporary("/tmp");
    if (status == 0)
        status = orders.program ? program_run(orders.window, LINGER_S) : run_workload(&orders);
    if (status < 0)
        report("failed: %s", board_failure());
    power_off();
}
