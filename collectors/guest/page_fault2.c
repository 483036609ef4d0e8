// SPDX-License-Identifier: MIT OR Apache-2.0
//
// will-it-scale page_fault2: a private mapping of an own temporary file, one byte written per page,
// unmapped, again. Inside a memory cgroup, so that each page copied is charged.
//
// Processes: then mmap_lock is not shared, and what is left is the known contention, on the cgroup
// (page_counter, mem_cgroup statistics) and the page lists. The file is 4 MB rather than 128, to
// fit eight workers into a small guest.
#define _GNU_SOURCE
#include "files.h"
#include "workloads.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP CGROUP_ROOT "/relayout"

enum { PAGE_BYTES = 4096, PAGES = 1024, FILE_BYTES = PAGES * PAGE_BYTES };

struct page_fault2 {
    int fd;
    char *memory; // NULL between two mappings
};

static int page_fault2_prepare(const struct run *run)
{
    (void)run;
    if (file_write(CGROUP_ROOT "/cgroup.subtree_control", "+memory") < 0)
        return failure("enabling the memory controller in %s", CGROUP_ROOT);
    if (mkdir(CGROUP, 0755) < 0 && errno != EEXIST)
        return failure("mkdir %s", CGROUP);
    if (file_write(CGROUP "/cgroup.procs", "0") < 0)
        return failure("moving to %s", CGROUP);
    return 0;
}

static int page_fault2_setup(struct worker *worker)
{
    struct page_fault2 *own = worker->state;
    char path[PATH_MAX];
    if (run_path(worker->run, path, "pages-%u", worker->index) < 0)
        return -1;
    own->fd = file_create(path, FILE_BYTES);
    if (own->fd < 0)
        return -1;
    return unlink(path) < 0 ? failure("unlink %s", path) : 0;
}

static int page_fault2_operate(struct worker *worker, uint64_t number)
{
    struct page_fault2 *own = worker->state;
    size_t page = number % PAGES;
    if (page == 0) {
        if (own->memory && munmap(own->memory, FILE_BYTES) < 0)
            return failure("munmap");
        own->memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, own->fd, 0);
        if (own->memory == MAP_FAILED)
            return failure("mmap of %d bytes of a file", FILE_BYTES);
    }
    *(volatile char *)(own->memory + page * PAGE_BYTES) = 1;
    return 0;
}

static int page_fault2_teardown(struct worker *worker)
{
    struct page_fault2 *own = worker->state;
    if (munmap(own->memory, FILE_BYTES) < 0)
        return failure("munmap");
    return close(own->fd) < 0 ? failure("close") : 0;
}

static int page_fault2_cleanup(const struct run *run)
{
    (void)run;
    if (file_write(CGROUP_ROOT "/cgroup.procs", "0") < 0)
        return failure("moving back to %s", CGROUP_ROOT);
    return rmdir(CGROUP) < 0 ? failure("rmdir %s", CGROUP) : 0;
}

const struct workload page_fault2_workload = {
    .name = "page_fault2",
    .summary = "processes in a memory cgroup write a private file mapping page by page "
               "(will-it-scale page_fault2)",
    .operation = "one page written (a fault)",
    .iterations = 10000,
    .warmup = PAGES,
    .sharing = SHARING_PROCESSES,
    .state_bytes = sizeof(struct page_fault2),
    .prepare = page_fault2_prepare,
    .setup = page_fault2_setup,
    .operate = page_fault2_operate,
    .teardown = page_fault2_teardown,
    .cleanup = page_fault2_cleanup,
};
