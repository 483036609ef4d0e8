// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "disks.h"

#include "board.h"
#include "files.h"
#include "root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#define ORDERS "/run/relayout-disks"
#define DEVICES "/sys/class/block"
#define FILE_SYSTEM "ext4"
// No thread that clears inode tables while the workload runs.
#define OPTIONS "noinit_itable"

// Drivers find disks while the guest goes on.
enum { PATIENCE_S = 60, POLL_MS = 20 };

// Places in the superblock of ext4, from the start of the disk.
enum { MAGIC_AT = 1024 + 56, LABEL_AT = 1024 + 120, LABEL_BYTES = 16, READ_BYTES = 2048 };

static bool has_label(const char *device, const char *label)
{
    unsigned char bytes[READ_BYTES];
    int fd = open(device, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    return length == READ_BYTES && bytes[MAGIC_AT] == 0x53 && bytes[MAGIC_AT + 1] == 0xef &&
           strncmp((const char *)bytes + LABEL_AT, label, LABEL_BYTES) == 0;
}

// Returns 1 if a device has the label, 0 if none has, or -1 after failure().
static int look_for(const char *label, char device[PATH_MAX])
{
    DIR *devices = opendir(DEVICES);
    if (!devices)
        return failure("opening %s", DEVICES);
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(devices));) {
        snprintf(device, PATH_MAX, "/dev/%s", entry->d_name);
        found = entry->d_name[0] != '.' && has_label(device, label);
    }
    closedir(devices);
    return found;
}

static int wait_for(const char *label, char device[PATH_MAX])
{
    struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    for (int waited_ms = 0; waited_ms < PATIENCE_S * 1000; waited_ms += POLL_MS) {
        int found = look_for(label, device);
        if (found != 0)
            return found < 0 ? -1 : 0;
        nanosleep(&pause, NULL);
    }
    return failure_plain("no disk %s appeared within %d s", label, PATIENCE_S);
}

static int mount_disk(const char *device, const char *folder)
{
    if (mount(device, folder, FILE_SYSTEM, 0, OPTIONS) < 0)
        return failure("mount %s on %s", device, folder);
    return 0;
}

static int mount_folder(const char *device, const char *folder)
{
    if (strcmp(folder, "/") != 0)
        return mount_disk(device, folder);
    const char *root = root_prepare();
    return root && mount_disk(device, root) == 0 ? root_enter() : -1;
}

int disks_mount(void)
{
    static char folders[64 * 1024];
    ssize_t length = file_read(ORDERS, folders, sizeof(folders));
    if (length < 0)
        return errno == ENOENT ? 0 : failure("reading %s", ORDERS);

    int number = 0;
    for (char *folder = folders; folder < folders + length; folder += strlen(folder) + 1) {
        char label[2 * LABEL_BYTES], device[PATH_MAX];
        snprintf(label, sizeof(label), "relayout-%d", number++);
        if (wait_for(label, device) < 0 || mount_folder(device, folder) < 0)
            return -1;
    }
    // Nothing is left to write back while the workload runs.
    sync();
    return 0;
}
