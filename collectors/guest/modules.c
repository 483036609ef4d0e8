// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "modules.h"

#include "board.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ORDERS "/run/relayout-modules"

// Actions of klogctl(2), and the level of messages with which all but debugging ones are shown.
enum { SET_CONSOLE_LEVEL = 8, ALL_MESSAGES = 7 };

static int load(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failure("opening %s", path);
    long status = syscall(SYS_finit_module, fd, "", 0);
    if (status < 0 && errno != EEXIST) {
        const char *name = strrchr(path, '/');
        return failure("loading the module %s", name ? name + 1 : path);
    }
    close(fd);
    // Its memory is the guest's.
    unlink(path);
    return 0;
}

// The kernel's level of messages for the console; all of them if it does not say.
static int console_level(void)
{
    char text[64];
    int level = file_read("/proc/sys/kernel/printk", text, sizeof(text)) < 0 ? 0 : atoi(text);
    return level > 0 ? level : ALL_MESSAGES;
}

static int load_all(char *paths, ssize_t length)
{
    for (char *path = paths; path < paths + length; path += strlen(path) + 1)
        if (load(path) < 0)
            return -1;
    return 0;
}

int modules_load(void)
{
    static char paths[64 * 1024];
    ssize_t length = file_read(ORDERS, paths, sizeof(paths));
    if (length < 0)
        return errno == ENOENT ? 0 : failure("reading %s", ORDERS);

    // The kernel says why it refuses a module.
    int level = console_level();
    klogctl(SET_CONSOLE_LEVEL, NULL, ALL_MESSAGES);
    int status = load_all(paths, length);
    klogctl(SET_CONSOLE_LEVEL, NULL, level);
    return status;
}
