// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "workers.h"

#include "marker.h"
#include "pin.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Loop turns that a worker thinks before its first operation, and between two, at the most.
enum { START_JITTER = 4096, THINK_JITTER = 64 };

// A worker and what is known of it outside.
struct slot {
    struct worker worker;
    pthread_t thread;
    pid_t pid; // 0: not created, or ended
};

static const struct run *workers_run;
static bool workers_pinned;
static struct slot *slots;
static uint32_t created;

static void think(struct random *random, uint32_t turns_max)
{
    for (uint32_t turns = random_below(random, turns_max); turns > 0; turns--)
        __asm__ volatile("");
}

static int warm_up(struct worker *worker)
{
    const struct workload *workload = worker->run->workload;
    for (uint32_t i = 0; i < workload->warmup; i++)
        if (workload->operate(worker, i) < 0)
            return -1;
    return 0;
}

static int operate(struct worker *worker)
{
    const struct workload *workload = worker->run->workload;
    think(&worker->random, START_JITTER);
    if (workload->operate_all)
        return workload->operate_all(worker);

    for (uint64_t i = 0; i < worker->run->iterations; i++) {
        if (workload->operate(worker, workload->warmup + i) < 0)
            return -1;
        MARKER(MARKER_OPERATION);
        think(&worker->random, THINK_JITTER);
    }
    return 0;
}

// The life of a worker. Returns 0, or -1 after failure().
static int live(struct worker *worker)
{
    const struct run *run = worker->run;
    const struct workload *workload = run->workload;

    if (workers_pinned && pin_to_cpu(worker->index) < 0)
        return -1;
    if (workload->setup && workload->setup(worker) < 0)
        return -1;
    if (warm_up(worker) < 0)
        return -1;
    board_arrive(run->threads, 0);
    board_wait_phase(PHASE_GO);
    if (operate(worker) < 0)
        return -1;
    worker_finish(run->threads, run->iterations);
    return workload->teardown ? workload->teardown(worker) : 0;
}

void worker_finish(uint32_t workers, uint64_t operations)
{
    board_arrive(workers, operations);
    board_wait_phase(PHASE_RELEASE);
}

static void *thread_main(void *slot)
{
    live(&((struct slot *)slot)->worker);
    return NULL;
}

static int create_thread(struct slot *slot)
{
    errno = pthread_create(&slot->thread, NULL, thread_main, slot);
    return errno ? failure("creating thread %u", slot->worker.index) : 0;
}

static int create_process(struct slot *slot)
{
    pid_t coordinator = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return failure("fork of worker %u", slot->worker.index);
    if (pid == 0) {
        // The second check is for a coordinator that died before the first line took effect.
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
            failure("prctl(PR_SET_PDEATHSIG)");
        else if (getppid() == coordinator && live(&slot->worker) == 0)
            _exit(0);
        _exit(1);
    }
    slot->pid = pid;
    return 0;
}

static void note_end(pid_t pid, int status, bool expected)
{
    for (uint32_t i = 0; i < created; i++) {
        if (slots[i].pid != pid)
            continue;
        slots[i].pid = 0;
        if (WIFSIGNALED(status))
            failure_plain("worker %u killed by signal %d (%s)", i, WTERMSIG(status),
                          strsignal(WTERMSIG(status)));
        else if (!expected || WEXITSTATUS(status) != 0)
            failure_plain("worker %u exited with status %d", i, WEXITSTATUS(status));
    }
}

void workers_check(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        note_end(pid, status, false);
}

int workers_create(const struct run *run, bool pin)
{
    const struct workload *workload = run->workload;
    workers_run = run;
    workers_pinned = pin;
    slots = calloc(run->threads, sizeof(*slots));
    if (!slots)
        return failure("memory for %u workers", run->threads);

    for (uint32_t i = 0; i < run->threads && !board_failure(); i++) {
        struct slot *slot = &slots[i];
        slot->worker = (struct worker){
            .run = run,
            .index = i,
            .random = random_new(run->seed, i),
            .state = calloc(1, workload->state_bytes ? workload->state_bytes : 1),
        };
        if (!slot->worker.state)
            return failure("memory for worker %u", i);
        int status = workload->sharing == SHARING_THREADS ? create_thread(slot)
                                                          : create_process(slot);
        if (status < 0)
            return -1;
        created++;
        workers_check();
    }
    return board_failure() ? -1 : 0;
}

void workers_join(void)
{
    for (uint32_t i = 0; i < created; i++) {
        int status;
        if (workers_run->workload->sharing == SHARING_THREADS) {
            pthread_join(slots[i].thread, NULL);
        } else if (slots[i].pid) {
            pid_t pid = slots[i].pid;
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
            note_end(pid, status, true);
        }
    }
}

void workers_kill(void)
{
    // All are told before any is waited for: those left would go on using up what is short.
    for (uint32_t i = 0; i < created; i++)
        if (slots[i].pid)
            kill(slots[i].pid, SIGKILL);
    for (uint32_t i = 0; i < created; i++) {
        if (slots[i].pid)
            waitpid(slots[i].pid, NULL, 0);
        slots[i].pid = 0;
    }
}
