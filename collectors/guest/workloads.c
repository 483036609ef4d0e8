// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads.h"

#include <string.h>

const struct workload *const workloads[] = {
    &execl_workload,       &execl_own_workload, &fcopy_workload, &forkexec_workload,
    &locks_workload,       &mmap1_workload,     &mntns_workload, &open_close_workload,
    &page_fault2_workload, &pipe_workload,      &sock_workload,  &stat_workload,
    &stat_one_workload,    &syscall_workload,   &tlb_workload,   &tmpfs_workload,
    NULL,
};

const struct workload *workload_find(const char *name)
{
    for (const struct workload *const *each = workloads; *each; each++)
        if (strcmp((*each)->name, name) == 0)
            return *each;
    return NULL;
}
