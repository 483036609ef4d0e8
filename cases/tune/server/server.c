/*
 * A small server without a network. `server exchange N` receives N requests in one thread and sends N notices in
 * another; `server migrate N` hands sessions from one thread to the other, as a server does that balances its load;
 * `server test` tests both. The last line of the output is the number of operations per second.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <relayout.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server.h"

static struct buffer_pool *pool;
static struct server_stats *stats;
static struct session *sessions[SESSIONS];
static unsigned long operation_count;

/* Keeps the calling thread on a CPU, if there is one of that number. */
static void pin_thread(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

/* Returns zeroed memory of whole cache lines, so that objects share none. */
static void *allocate(size_t bytes)
{
	size_t line_bytes = (bytes + 63) / 64 * 64;
	void *memory = aligned_alloc(64, line_bytes);

	if (!memory)
		abort();
	return memset(memory, 0, line_bytes);
}

static void add(unsigned long *counter, unsigned long amount)
{
	__atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static void *receive_requests(void *unused)
{
	pin_thread(0);
	for (unsigned long request = 0; request < operation_count; request++) {
		add(&pool->filled, 1);
		add(&sessions[request % ACTIVE_SESSIONS]->last_seen, 1);
		add(&stats->requests_in, 1);
		relayout_operation();
	}
	return unused;
}

static void *send_notices(void *unused)
{
	pin_thread(1);
	for (unsigned long notice = 0; notice < operation_count; notice++) {
		add(&pool->emptied, 1);
		add(&sessions[notice % ACTIVE_SESSIONS]->bytes_sent, 64);
		add(&stats->notices_out, 1);
		relayout_operation();
	}
	return unused;
}

/* The thread that holds the sessions, on a line of its own. */
static struct holder {
	_Alignas(64) unsigned long thread;
} holder;

/* Works on all sessions when they are handed over, in the order of a hash table, and hands them to the other thread. */
static void *migrate_sessions(void *number)
{
	unsigned long thread = (unsigned long)number;

	pin_thread(thread);
	for (unsigned long done = 0; done < operation_count; done += SESSIONS) {
		while (__atomic_load_n(&holder.thread, __ATOMIC_ACQUIRE) != thread)
			sched_yield();
		for (unsigned int index = 0, count = 0; count < SESSIONS; count++) {
			index = (29 * index + 17) % SESSIONS;
			add(&sessions[index]->last_seen, 1);
			add(&sessions[index]->bytes_sent, 64);
			relayout_operation();
		}
		__atomic_store_n(&holder.thread, !thread, __ATOMIC_RELEASE);
	}
	return NULL;
}

static double run_threads(void *(*first)(void *), void *(*second)(void *))
{
	struct timespec begun, ended;
	pthread_t threads[2];

	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (pthread_create(&threads[0], NULL, first, (void *)0) || pthread_create(&threads[1], NULL, second, (void *)1))
		abort();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	return ended.tv_sec - begun.tv_sec + 1e-9 * (ended.tv_nsec - begun.tv_nsec);
}

static void set_up(unsigned long operations)
{
	operation_count = operations;
	holder.thread = 0;
	pool = allocate(sizeof *pool);
	relayout_object(pool, sizeof *pool, "struct buffer_pool");
	stats = allocate(sizeof *stats);
	relayout_object(stats, sizeof *stats, "struct server_stats");
	stats->started_at = time(NULL);
	for (int index = 0; index < SESSIONS; index++) {
		sessions[index] = allocate(sizeof *sessions[index]);
		relayout_object(sessions[index], sizeof *sessions[index], "struct session");
		sessions[index]->client_id = index;
	}
}

static double exchange(unsigned long operations)
{
	set_up(operations);
	return run_threads(receive_requests, send_notices);
}

static double migrate(unsigned long operations)
{
	set_up(operations);
	return run_threads(migrate_sessions, migrate_sessions);
}

static int expect(const char *name, unsigned long found, unsigned long expected)
{
	if (found == expected)
		return 0;
	fprintf(stderr, "%s is %lu, not %lu\n", name, found, expected);
	return 1;
}

static int test(void)
{
	int failures = 0;

	exchange(10000);
	failures += expect("requests_in", stats->requests_in, 10000);
	failures += expect("notices_out", stats->notices_out, 10000);
	failures += expect("filled", pool->filled, 10000);
	failures += expect("emptied", pool->emptied, 10000);
	failures += expect("last_seen", sessions[0]->last_seen, 10000 / ACTIVE_SESSIONS);
	failures += expect("bytes_sent", sessions[0]->bytes_sent, 64 * 10000 / ACTIVE_SESSIONS);

	migrate(100 * SESSIONS);
	for (int index = 0; index < SESSIONS; index++)
		failures += expect("last_seen", sessions[index]->last_seen, 2 * 100);
	return failures != 0;
}

int main(int argc, char **argv)
{
	unsigned long operations = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
	double seconds;

	if (argc > 1 && !strcmp(argv[1], "test"))
		return test();
	if (argc > 1 && !strcmp(argv[1], "exchange"))
		seconds = exchange(operations);
	else if (argc > 1 && !strcmp(argv[1], "migrate"))
		seconds = migrate(operations);
	else
		return fprintf(stderr, "usage: server exchange|migrate [OPERATIONS]\n       server test\n"), 2;
	printf("rate: %.0f\n", operations / seconds);
	return 0;
}
