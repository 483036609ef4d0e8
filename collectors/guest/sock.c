// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Loopback TCP: connect, a small request, a small response, close (netperf's TCP_CRR).
//
// Processes that share one listening socket. Each connects and sends, then serves whichever
// connection is next in the queue, most often another worker's, then reads its own answer. As many
// accepts are made as connections, in their order, so nobody waits for ever. Contended are the
// listener's accept queue, the hash tables, and the sockets that two CPUs work on.
#define _GNU_SOURCE
#include "workloads.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 64 };

// Set by prepare.
static int listener;
static struct sockaddr_in address;

static int sock_prepare(const struct run *run)
{
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return failure("socket");
    // Port 0: the kernel picks one.
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0)
        return failure("bind to the loopback address");
    socklen_t length = sizeof(address);
    if (getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        return failure("getsockname");
    return listen(listener, (int)run->threads + 1) < 0 ? failure("listen") : 0;
}

static int send_message(int fd)
{
    static const char message[MESSAGE_BYTES];
    ssize_t n = send(fd, message, MESSAGE_BYTES, MSG_NOSIGNAL);
    if (n != MESSAGE_BYTES)
        return n < 0 ? failure("send") : failure_plain("send: %zd of %d bytes", n, MESSAGE_BYTES);
    return 0;
}

static int receive_message(int fd)
{
    char message[MESSAGE_BYTES];
    ssize_t n = recv(fd, message, MESSAGE_BYTES, MSG_WAITALL);
    if (n != MESSAGE_BYTES)
        return n < 0 ? failure("recv") : failure_plain("recv: %zd of %d bytes", n, MESSAGE_BYTES);
    return 0;
}

static int connect_and_ask(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return failure("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return failure("connect to the loopback address");
    return send_message(fd) < 0 ? -1 : fd;
}

static int serve_next(void)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return failure("accept");
    if (receive_message(fd) < 0 || send_message(fd) < 0)
        return -1;
    return close(fd) < 0 ? failure("close") : 0;
}

static int sock_operate(struct worker *worker, uint64_t number)
{
    (void)worker, (void)number;
    int fd = connect_and_ask();
    if (fd < 0)
        return -1;
    if (serve_next() < 0 || receive_message(fd) < 0)
        return -1;
    return close(fd) < 0 ? failure("close") : 0;
}

const struct workload sock_workload = {
    .name = "sock",
    .summary = "processes connect, exchange 64 bytes and close over loopback TCP",
    .operation = "one connection made and one served",
    .iterations = 800,
    .warmup = 8,
    .sharing = SHARING_PROCESSES,
    .prepare = sock_prepare,
    .operate = sock_operate,
};
