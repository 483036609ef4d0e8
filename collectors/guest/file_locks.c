// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Locks of the kernel around files: an inode's i_rwsem, and the spin locks of the file table and of
// the counts of a file.
#define _GNU_SOURCE
#include "files.h"
#include "locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Appends: all append records to one file, and ask for its end under the same lock. Records do not
// fit pages, so that the size is no multiple of theirs while one is written.

struct file_record {
    uint64_t worker;
    uint64_t number; // of the worker's records, from 1 on
    uint64_t fill[10]; // the number, too
};

enum { FILLS = sizeof(((struct file_record *)0)->fill) / sizeof(uint64_t) };

// What a worker has appended.
struct appended {
    int fd;
    uint64_t records;
    off_t last_offset;
};

static struct appended *appended_by_worker;

static int append_prepare(const struct run *run)
{
    char path[PATH_MAX];
    appended_by_worker = calloc(run->threads, sizeof(*appended_by_worker));
    if (!appended_by_worker)
        return failure("memory for %u workers", run->threads);
    if (run_path(run, path, "appended") < 0)
        return -1;
    int fd = file_create(path, 0);
    if (fd < 0)
        return -1;
    close(fd);
    int appends = append_lock.is_broken ? 0 : O_APPEND;
    for (uint32_t i = 0; i < run->threads; i++) {
        appended_by_worker[i].fd = open(path, O_RDWR | O_CLOEXEC | appends);
        if (appended_by_worker[i].fd < 0)
            return failure("open %s", path);
    }
    return 0;
}

static struct file_record own_record(struct worker *worker, uint64_t number)
{
    struct file_record record = {.worker = worker->index, .number = number};
    for (int i = 0; i < FILLS; i++)
        record.fill[i] = number;
    return record;
}

// The worker's last record is where it was written: nobody else got its place.
static int check_last_record(struct worker *worker, const struct appended *own)
{
    struct file_record expected = own_record(worker, own->records), record;
    if (own->records == 0)
        return 0;
    ssize_t n = pread(own->fd, &record, sizeof(record), own->last_offset);
    if (n < 0)
        return failure("pread");
    if (n != sizeof(record) || memcmp(&record, &expected, sizeof(record)) != 0)
        return failure_plain("append: record %llu of worker %u was overwritten",
                             (unsigned long long)own->records, worker->index);
    return 0;
}

static int append_use(struct worker *worker)
{
    struct appended *own = &appended_by_worker[worker->index];
    if (check_last_record(worker, own) < 0)
        return -1;
    struct file_record record = own_record(worker, own->records + 1);
    if (append_lock.is_broken && lseek(own->fd, 0, SEEK_END) < 0)
        return failure("lseek");
    ssize_t n = write(own->fd, &record, sizeof(record));
    if (n != sizeof(record))
        return n < 0 ? failure("write") : failure_plain("append: %zd bytes were written", n);
    own->records++;
    own->last_offset = lseek(own->fd, 0, SEEK_CUR) - (off_t)sizeof(record);
    // Unlike the size that stat tells, this end is read under the lock.
    off_t end = lseek(own->fd, 0, SEEK_HOLE);
    if (own->last_offset < 0 || end < 0)
        return failure("lseek");
    if (end % (off_t)sizeof(record) != 0 || end < own->last_offset + (off_t)sizeof(record))
        return failure_plain("append: worker %u sees the end at %lld after its record at %lld",
                             worker->index, (long long)end, (long long)own->last_offset);
    return check_last_record(worker, own);
}

static int append_settle(const struct run *run)
{
    uint64_t records = 0;
    for (uint32_t i = 0; i < run->threads; i++)
        records += appended_by_worker[i].records;
    struct stat status;
    if (fstat(appended_by_worker[0].fd, &status) < 0)
        return failure("fstat");
    if ((uint64_t)status.st_size != records * sizeof(struct file_record))
        return failure_plain("append: %llu records give a file of %lld bytes",
                             (unsigned long long)records, (long long)status.st_size);
    return 0;
}

struct tested_lock append_lock = {
    .name = "append",
    .prepare = append_prepare,
    .use = append_use,
    .settle = append_settle,
};

// Descriptors: all open and duplicate one file in one table. No descriptor belongs to two workers,
// and at the end all are free again and nobody has the file open.

enum { DESCRIPTORS_MAX = 1024 };

static char shared_path[PATH_MAX];
static int shared_fd, lowest_free_fd;
static uint32_t holders[DESCRIPTORS_MAX]; // number of the worker that has the descriptor, plus 1

static int find_lowest_free(void)
{
    int fd = dup(shared_fd);
    if (fd < 0)
        return failure("dup");
    return close(fd) < 0 ? failure("close") : fd;
}

static int descriptor_prepare(const struct run *run)
{
    if (run_path(run, shared_path, "opened") < 0)
        return -1;
    int fd = file_create(shared_path, 0);
    if (fd < 0)
        return -1;
    close(fd);
    shared_fd = open(shared_path, O_RDONLY | O_CLOEXEC);
    if (shared_fd < 0)
        return failure("open %s", shared_path);
    // Nothing is opened later that stays.
    lowest_free_fd = find_lowest_free();
    return lowest_free_fd < 0 ? -1 : 0;
}

// All have the same one if the lock is broken.
static int get_descriptor(struct worker *worker)
{
    if (descriptor_lock.is_broken)
        return shared_fd;
    bool duplicates = random_below(&worker->random, 2);
    return duplicates ? dup(shared_fd) : open(shared_path, O_RDONLY | O_CLOEXEC);
}

static int descriptor_use(struct worker *worker)
{
    uint32_t own = worker->index + 1;
    int fd = get_descriptor(worker);
    if (fd < 0 || fd >= DESCRIPTORS_MAX)
        return failure("opening %s as %d", shared_path, fd);
    uint32_t other = __atomic_exchange_n(&holders[fd], own, __ATOMIC_ACQ_REL);
    struct stat status;
    if (fstat(fd, &status) < 0)
        return failure("fstat of descriptor %d", fd);
    uint32_t last = __atomic_exchange_n(&holders[fd], 0, __ATOMIC_ACQ_REL);
    if (other || last != own)
        return failure_plain("descriptor: workers %u and %u have %d at once", worker->index,
                             (other ? other : last) - 1, fd);
    if (!descriptor_lock.is_broken && close(fd) < 0)
        return failure("close");
    return 0;
}

static int descriptor_settle(const struct run *run)
{
    (void)run;
    int lowest = find_lowest_free();
    if (lowest < 0)
        return -1;
    if (lowest != lowest_free_fd)
        return failure_plain("descriptor: %d is free before %d", lowest, lowest_free_fd);
    // Given only for a file that nobody else has open.
    if (fcntl(shared_fd, F_SETLEASE, F_WRLCK) < 0)
        return errno == EAGAIN ? failure_plain("descriptor: the file's count of readers is wrong")
                               : failure("fcntl(F_SETLEASE)");
    return fcntl(shared_fd, F_SETLEASE, F_UNLCK) < 0 ? failure("fcntl(F_SETLEASE)") : 0;
}

struct tested_lock descriptor_lock = {
    .name = "descriptor",
    .prepare = descriptor_prepare,
    .use = descriptor_use,
    .settle = descriptor_settle,
};
