// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "modules.h"

#include "board.h"
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ORDERS "/run/relayout-modules"

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

int modules_load(void)
{
    static char paths[64 * 1024];
    ssize_t length = file_read(ORDERS, paths, sizeof(paths));
    if (length < 0)
        return errno == ENOENT ? 0 : failure("reading %s", ORDERS);
    for (char *path = paths; path < paths + length; path += strlen(path) + 1)
        if (load(path) < 0)
            return -1;
    return 0;
}
