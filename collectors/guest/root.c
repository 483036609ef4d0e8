// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "root.h"

#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_ROOT "/relayout-root"

enum { OPEN_FOLDERS_MAX = 16, COPY_BYTES_MAX = 1 << 20, PERMISSIONS = 07777 };

const char *root_prepare(void)
{
    if (mkdir(NEW_ROOT, 0755) < 0) {
        failure("mkdir %s", NEW_ROOT);
        return NULL;
    }
    return NEW_ROOT;
}

static int carry_mount(const char *folder)
{
    char to[PATH_MAX];
    snprintf(to, sizeof(to), NEW_ROOT "%s", folder);
    if (mkdir(to, 0755) < 0 && errno != EEXIST)
        return failure("mkdir %s", to);
    return mount(folder, to, NULL, MS_MOVE, NULL) < 0 ? failure("moving %s to the disk", folder) : 0;
}

static int copy_content(const char *from, int to, off_t bytes)
{
    int file = open(from, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t copied = 0;
    while (bytes > 0 && (copied = sendfile(to, file, NULL, COPY_BYTES_MAX)) > 0)
        bytes -= copied;
    int error = errno;
    close(file);
    errno = error;
    return copied < 0 ? -1 : 0;
}

static int copy_file(const char *from, const char *to, const struct stat *status)
{
    int file = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    int outcome = copy_content(from, file, status->st_size);
    if (outcome == 0)
        outcome = fchmod(file, status->st_mode & PERMISSIONS);
    int error = errno;
    if (close(file) < 0)
        return -1;
    errno = error;
    return outcome;
}

static int copy_link(const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t length = readlink(from, target, sizeof(target) - 1);
    if (length < 0)
        return -1;
    target[length] = '\0';
    return symlink(target, to);
}

static int move_entry(const char *from, const struct stat *status, int kind, struct FTW *place)
{
    (void)place;
    // "./a/b" of the initramfs is "/a/b" of the root.
    const char *to = from + 1;
    if (*to == '\0' || strcmp(to, "/init") == 0)
        return 0;
    if (S_ISDIR(status->st_mode)) {
        if (kind == FTW_DNR || (mkdir(to, 0755) < 0 && errno != EEXIST))
            return failure("mkdir %s on the disk", to);
        return 0;
    }
    if (!S_ISREG(status->st_mode) && !S_ISLNK(status->st_mode))
        return 0;
    unlink(to);
    int copied = S_ISLNK(status->st_mode) ? copy_link(from, to) : copy_file(from, to, status);
    if (copied < 0)
        return failure("moving %s to the disk", to);
    // Its memory is the guest's.
    unlink(from);
    return 0;
}

int root_enter(void)
{
    if (carry_mount("/dev") < 0 || carry_mount("/proc") < 0 || carry_mount("/sys") < 0)
        return -1;
    int initramfs = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (initramfs < 0)
        return failure("opening the initramfs");
    if (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0)
        return failure("making the disk the root");
    if (fchdir(initramfs) < 0)
        return failure("entering the initramfs");
    close(initramfs);
    rmdir("." NEW_ROOT);
    if (nftw(".", move_entry, OPEN_FOLDERS_MAX, FTW_PHYS | FTW_MOUNT) != 0)
        return -1;
    return chdir("/") < 0 ? failure("entering the root") : 0;
}
