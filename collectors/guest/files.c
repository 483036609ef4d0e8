// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "files.h"

#include "board.h"
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    remove(path);
    return 0;
}

void files_remove(const char *directory)
{
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

ssize_t file_read(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;

    size_t length = 0;
    ssize_t n = 0;
    while (length < size && (n = read(fd, buffer + length, size - length)) > 0)
        length += (size_t)n;
    int error = n < 0 ? errno : length == size ? EFBIG : 0;
    close(fd);
    if (error) {
        errno = error;
        return -1;
    }
    buffer[length] = '\0';
    return (ssize_t)length;
}

int file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return n < 0 ? -1 : 0;
}

int file_create(const char *path, off_t size_bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return failure("create %s", path);
    if (ftruncate(fd, size_bytes) < 0) {
        failure("ftruncate %s", path);
        close(fd);
        return -1;
    }
    return fd;
}

int run_path(const struct run *run, char path[PATH_MAX], const char *format, ...)
{
    int start = snprintf(path, PATH_MAX, "%s/", run->directory);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path + start, (size_t)(PATH_MAX - start), format, arguments);
    va_end(arguments);
    if (length >= PATH_MAX - start)
        return failure_plain("path too long: %s", path);
    return 0;
}
