// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All workloads, by name.
#ifndef RELAYOUT_WORKLOADS_H
#define RELAYOUT_WORKLOADS_H

#include "workload.h"

extern const struct workload execl_workload;
extern const struct workload execl_own_workload;
extern const struct workload fcopy_workload;
extern const struct workload forkexec_workload;
extern const struct workload locks_workload;
extern const struct workload mmap1_workload;
extern const struct workload mntns_workload;
extern const struct workload open_close_workload;
extern const struct workload page_fault2_workload;
extern const struct workload pipe_workload;
extern const struct workload sock_workload;
extern const struct workload stat_workload;
extern const struct workload stat_one_workload;
extern const struct workload syscall_workload;
extern const struct workload tlb_workload;
extern const struct workload tmpfs_workload;

// In the order in which they are listed; ends with NULL.
extern const struct workload *const workloads[];

// The workload of this name, or NULL.
const struct workload *workload_find(const char *name);

#endif
