/* What the threads of a server share: settings that all read beside words that some store to. Thread 0
 * accepts, thread 1 cleans up, all of them look things up. */
#include <string.h>

#include "threads.h"

/* Static: every request reads the settings, and the acceptor counts. */
struct listener {
	int fd;
	unsigned int flags;
	unsigned long timeout;
	char address[16];
	unsigned long accepted;
	unsigned long refused;
	char name[80];
};

/* From malloc: mask and buckets are read to look up, and the count is stored to by who inserts. */
struct session_table {
	unsigned long mask;
	unsigned long *buckets;
	unsigned long seed;
	unsigned long inserted;
	unsigned long removed;
	char owner[104];
};

/* From calloc: a reference is taken and dropped around each use, and the rest is only read. */
struct device {
	unsigned int references;
	unsigned int mtu;
	unsigned long features;
	const char *label;
	char reserved[104];
};

/* Static, a typedef without a tag: the cleaner stores where it is, and readers see the limits. */
typedef struct {
	unsigned long low;
	unsigned long high;
	unsigned long hand;
	unsigned long passes;
	char history[96];
} reclaim_state;

/* From aligned_alloc: a lock that the writers try to take, beside what readers look at. */
struct route_cache {
	unsigned int lock;
	unsigned int changes;
	const unsigned long *routes;
	unsigned long route_count;
	char statistics[104];
};

static struct listener listener = { .fd = 3, .flags = 1, .timeout = 30 };
static reclaim_state reclaim = { .low = 1, .high = 100 };
static struct session_table *sessions;
static struct device *device;
static struct route_cache *cache;
static unsigned long answers[THREADS * 8];

static unsigned long look_up(unsigned long key)
{
	unsigned long found = sessions->buckets[(key ^ sessions->seed) & sessions->mask];

	each_round();
	return found + cache->routes[key % cache->route_count];
}

static unsigned long use_device(void)
{
	unsigned long size;

	__atomic_fetch_add(&device->references, 1, __ATOMIC_ACQUIRE);
	size = device->mtu + device->features;
	__atomic_fetch_sub(&device->references, 1, __ATOMIC_RELEASE);
	return size;
}

static void accept_one(long i)
{
	listener.accepted++;
	if (i % 4 == 0)
		listener.refused++;
	sessions->inserted++;
	each_round();
	if (!__atomic_exchange_n(&cache->lock, 1, __ATOMIC_ACQUIRE)) {
		cache->changes++;
		__atomic_store_n(&cache->lock, 0, __ATOMIC_RELEASE);
	}
}

static void clean_up(void)
{
	reclaim.hand += 8;
	reclaim.passes++;
	sessions->removed++;
}

static void run(long number)
{
	unsigned long answer = 0;

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		if (number == 0)
			accept_one(i);
		else if (number == 1)
			clean_up();
		answer += listener.timeout + (listener.flags & 1) + look_up(i);
		each_round();
		if (number > 1 && answer > reclaim.low)
			answer %= reclaim.high;
		if (i % 4 == 0 && number < 2)
			answer += use_device();
		else
			answer += device->mtu + device->features;
	}
	answers[number * 8] = answer;
}

int main(int count, char **words)
{
	static unsigned long buckets[64], routes[16];

	sessions = malloc(sizeof(*sessions));
	memset(sessions, 0, sizeof(*sessions));
	sessions->mask = 63;
	sessions->buckets = buckets;
	device = calloc(1, sizeof(*device));
	device->mtu = 1500;
	cache = aligned_alloc(64, sizeof(*cache));
	memset(cache, 0, sizeof(*cache));
	cache->routes = routes;
	cache->route_count = 16;
	run_threads(count, words);
	printf("%lu %lu\n", answers[0], sessions->inserted + listener.accepted);
	free(sessions);
	free(device);
	free(cache);
	return 0;
}
