/* Classes: allocated by new, with bases and atomics. Thread 0 writes what the others hardly look at. */
#include <atomic>
#include <cstring>

#include "threads.h"

namespace net
{

/* Alone, from new: all read the limits, and thread 0 counts. */
class Pool
{
public:
	unsigned long limit() const
	{
		return low_ + high_;
	}
	void add()
	{
		taken_.fetch_add(1, std::memory_order_relaxed);
		bytes_ += 8;
	}
	unsigned long taken() const
	{
		return taken_.load() + bytes_;
	}

private:
	unsigned long low_ = 1;
	unsigned long high_ = 2;
	std::atomic<unsigned long> taken_{ 0 };
	unsigned long bytes_ = 0;
	char name_[96] = "pool";
};

} // namespace net

/* An element for each thread, from new[]. */
struct Shard {
	std::atomic<unsigned long> hits{ 0 };
	unsigned long misses = 0;
};

/* A static array of a class. */
class Meter
{
public:
	void tick(unsigned long by)
	{
		ticks_++;
		sum_ += by;
	}
	unsigned long sum() const
	{
		return sum_ + ticks_;
	}

private:
	unsigned int ticks_ = 0;
	unsigned long sum_ = 0;
};

/* Shared by references, as std::shared_ptr does: count in front of what is only read. */
struct Snapshot {
	std::atomic<int> references{ 1 };
	int version = 7;
	const char *text = "snapshot";
	unsigned long checksum = 42;
	char rest[104] = {};

	unsigned long read() const
	{
		return checksum + (unsigned long)version;
	}
	void hold()
	{
		references.fetch_add(1, std::memory_order_acquire);
	}
	void drop()
	{
		references.fetch_sub(1, std::memory_order_release);
	}
};

/* A state machine in a derived class; the base is only read. */
class Task
{
public:
	unsigned long cost() const
	{
		return cost_;
	}

protected:
	unsigned long cost_ = 3;
	unsigned long priority_ = 1;
};

class Job : public Task
{
public:
	void step()
	{
		int seen = state_.load(std::memory_order_relaxed);

		state_.compare_exchange_strong(seen, (seen + 1) % 3);
	}

private:
	std::atomic<int> state_{ 0 };
	int retries_ = 0;
	char log_[104] = {};
};

static net::Pool *pool;
static Shard *shards;
static Meter meters[THREADS];
static Snapshot *snapshot;
static Job job;
static unsigned long answers[THREADS * 8];

static void run(long number)
{
	unsigned long answer = 0;

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		if (number == 0)
			pool->add();
		else
			answer += pool->limit();
		shards[number].hits.fetch_add(1, std::memory_order_relaxed);
		shards[number].misses += i & 1;
		meters[number].tick(i & 7);
		each_round();
		if (number == 1)
			job.step();
		else
			answer += job.cost();
		if (number == 3) {
			snapshot->hold();
			snapshot->drop();
		} else {
			answer += snapshot->read();
		}
	}
	answers[number * 8] = answer;
}

int main(int count, char **words)
{
	pool = new net::Pool;
	shards = new Shard[THREADS];
	snapshot = new Snapshot;
	run_threads(count, words);
	printf("%lu %lu\n", answers[1], pool->taken() + shards[0].hits + meters[2].sum());
	delete snapshot;
	delete[] shards;
	delete pool;
	return 0;
}
