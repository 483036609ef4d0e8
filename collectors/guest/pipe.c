// SPDX-License-Identifier: MIT OR Apache-2.0
//
// UnixBench pipe throughput and context switching: 512 bytes through a pipe of one's own, then one
// token to the partner and one back.
//
// Processes, as there. Workers 2i and 2i+1 are partners; a last worker without one is its own. On
// different CPUs, each token is a remote wake-up: run queues, wait queues and the pipe itself move.
#define _GNU_SOURCE
#include "workloads.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK_BYTES = 512 };

struct ends {
    int read, write;
};

// Set by prepare: one for throughput and one for tokens to each worker.
static struct ends *own_pipes, *token_pipes;

static int create_pipes(struct ends **pipes, uint32_t count)
{
    *pipes = calloc(count, sizeof(**pipes));
    if (!*pipes)
        return failure("memory for %u pipes", count);
    for (uint32_t i = 0; i < count; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) < 0)
            return failure("pipe");
        (*pipes)[i] = (struct ends){.read = fds[0], .write = fds[1]};
    }
    return 0;
}

static int pipe_prepare(const struct run *run)
{
    if (create_pipes(&own_pipes, run->threads) < 0)
        return -1;
    return create_pipes(&token_pipes, run->threads);
}

static int send_bytes(struct ends *ends, const void *bytes, ssize_t count)
{
    ssize_t n = write(ends->write, bytes, (size_t)count);
    if (n != count)
        return n < 0 ? failure("write") : failure_plain("write: %zd of %zd bytes", n, count);
    return 0;
}

static int receive_bytes(struct ends *ends, void *bytes, ssize_t count)
{
    ssize_t n = read(ends->read, bytes, (size_t)count);
    if (n != count)
        return n < 0 ? failure("read") : failure_plain("read: %zd of %zd bytes", n, count);
    return 0;
}

static int expect_token(struct ends *ends, uint64_t number)
{
    uint64_t token;
    if (receive_bytes(ends, &token, sizeof(token)) < 0)
        return -1;
    if (token != number)
        return failure_plain("token %llu instead of %llu", (unsigned long long)token,
                             (unsigned long long)number);
    return 0;
}

static int pipe_operate(struct worker *worker, uint64_t number)
{
    char chunk[CHUNK_BYTES] = {0};
    uint32_t index = worker->index;
    uint32_t partner = (index ^ 1) < worker->run->threads ? index ^ 1 : index;

    if (send_bytes(&own_pipes[index], chunk, CHUNK_BYTES) < 0 ||
        receive_bytes(&own_pipes[index], chunk, CHUNK_BYTES) < 0)
        return -1;
    // The even one asks, the odd one answers.
    if (index % 2 == 0) {
        if (send_bytes(&token_pipes[partner], &number, sizeof(number)) < 0)
            return -1;
        return expect_token(&token_pipes[index], number);
    }
    if (expect_token(&token_pipes[index], number) < 0)
        return -1;
    return send_bytes(&token_pipes[partner], &number, sizeof(number));
}

const struct workload pipe_workload = {
    .name = "pipe",
    .summary = "512 bytes through an own pipe, then a token to a partner and back "
               "(UnixBench pipe throughput and context switching)",
    .operation = "one own transfer and one token each way",
    .iterations = 2000,
    .warmup = 16,
    .sharing = SHARING_PROCESSES,
    .prepare = pipe_prepare,
    .operate = pipe_operate,
};
