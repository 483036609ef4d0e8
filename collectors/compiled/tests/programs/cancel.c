/* Threads cancelled asynchronously and at cancellation points, amid accesses of every kind. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long line[8] __attribute__((aligned(64)));
static volatile int started;
static _Atomic long total;
static char from[4096], to[4096];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int cleaned, destroyed;

static void clean(void *amount)
{
	cleaned += *(int *)amount;
}

static void unlock(void *mutex)
{
	cleaned++;
	pthread_mutex_unlock(mutex);
}

static void at_end(void *value)
{
	destroyed += *(int *)value;
	line[4]++;
}

static void count(void)
{
	for (;;)
		line[1]++;
}

static void add(void)
{
	long expected = 0;
	for (;;) {
		total++;
		__atomic_compare_exchange_n(&line[2], &expected, expected + 1, 0, 5, 5);
		__atomic_fetch_or((volatile int *)&line[3], 2, 5);
	}
}

static void copy(void)
{
	for (size_t n = 1;; n = n * 5 % 4093) {
		memcpy(to, from, n);
		memset(from, (int)n, 4096 - n);
		line[1] += memcmp(to, from, n) != 0;
	}
}

static void spin(void)
{
	for (volatile long own = 0;; own++)
		;
}

static void block(void)
{
	line[1]++;
	pthread_mutex_lock(&held);
}

static void cancel_self(void)
{
	line[1]++;
	pthread_cancel(pthread_self());
	pause();
}

static void become_asynchronous(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	pthread_cancel(pthread_self());
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

static void test(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	for (;;) {
		line[1]++;
		pthread_testcancel();
	}
}

static void wait_for_signal(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, &lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	pthread_cleanup_pop(1);
}

static void *run(void *work)
{
	static int unit = 1;
	pthread_setspecific(key, &unit);
	pthread_cleanup_push(clean, &unit);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	started = 1;
	((void (*)(void))work)();
	pthread_cleanup_pop(0);
	return NULL;
}

static void check(const char *name, void (*work)(void), int rounds)
{
	int cancelled = 0;
	cleaned = destroyed = 0;
	for (int round = 0; round < rounds; round++) {
		pthread_t thread;
		void *result = NULL;
		started = 0;
		if (pthread_create(&thread, NULL, run, (void *)work))
			exit(1);
		while (!started)
			line[0]++;
		for (int i = 0; i < round * 37 % 1000; i++)
			line[0]++;
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%s: %d cancelled, %d cleaned up, %d destroyed\n", name, cancelled, cleaned, destroyed);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 30;
	pthread_key_create(&key, at_end);
	pthread_mutex_lock(&held);
	check("count", count, rounds);
	check("add", add, rounds);
	check("copy", copy, rounds);
	check("spin", spin, rounds);
	check("block", block, rounds);
	check("cancel_self", cancel_self, rounds);
	check("become_asynchronous", become_asynchronous, rounds);
	check("test", test, rounds);
	check("wait", wait_for_signal, rounds);
	pthread_mutex_lock(&lock);
	printf("%d\n", pthread_mutex_unlock(&lock));
	return 3;
}
