// A small key-value store in memory. `store serve N` reads in one thread and writes in another, N times each;
// `store scan N` reads all entries, until N are read; `store test` tests both. The last line of the output is the
// number of operations per second.
#include "store.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <relayout.h>
#include <sched.h>
#include <thread>

namespace store {

Store::Store(std::size_t entry_count) : entries(entry_count)
{
	for (std::size_t index = 0; index < entry_count; index++) {
		entries[index].key = index;
		entries[index].value = index % 7;
	}
}

namespace {

// Counts in what only the calling thread writes.
void count(std::atomic<std::uint64_t> &counter)
{
	counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

} // namespace

void Store::look_up(std::size_t index)
{
	count(entries[index].uses);
	count(log.consumed);
	count(counters.lookups);
}

void Store::update(std::size_t index)
{
	count(entries[index].version);
	count(log.appended);
	count(counters.updates);
}

std::uint64_t Store::sum() const
{
	std::uint64_t sum = 0;

	for (const Entry &entry : entries) {
		sum += entry.value;
		relayout_operation();
	}
	return sum;
}

} // namespace store

using store::Store;

namespace {

// Keys that are served, far apart; and entries of a scan, more than a cache holds.
constexpr std::size_t busy_keys = 4, key_distance = 256, scanned_entries = 1 << 20;

// Keeps the calling thread on a CPU, if there is one of that number.
void pin_thread(unsigned cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

void read_keys(Store &store, std::uint64_t operations)
{
	pin_thread(0);
	for (std::uint64_t done = 0; done < operations; done++) {
		store.look_up(done % busy_keys * key_distance);
		relayout_operation();
	}
}

void write_keys(Store &store, std::uint64_t operations)
{
	pin_thread(1);
	for (std::uint64_t done = 0; done < operations; done++) {
		store.update(done % busy_keys * key_distance);
		relayout_operation();
	}
}

void serve(Store &store, std::uint64_t operations)
{
	std::thread reader(read_keys, std::ref(store), operations);
	std::thread writer(write_keys, std::ref(store), operations);

	reader.join();
	writer.join();
}

std::uint64_t scan(const Store &store, std::uint64_t operations)
{
	std::uint64_t sum = 0;

	for (std::uint64_t done = 0; done < operations; done += store.entries.size())
		sum += store.sum();
	return sum;
}

int expect(const char *name, std::uint64_t found, std::uint64_t expected)
{
	if (found == expected)
		return 0;
	std::fprintf(stderr, "%s is %llu, not %llu\n", name, static_cast<unsigned long long>(found),
		     static_cast<unsigned long long>(expected));
	return 1;
}

int test()
{
	Store store(busy_keys * key_distance);
	int failures = 0;

	serve(store, 10000);
	failures += expect("lookups", store.counters.lookups, 10000);
	failures += expect("updates", store.counters.updates, 10000);
	failures += expect("appended", store.log.appended, 10000);
	failures += expect("consumed", store.log.consumed, 10000);
	failures += expect("uses", store.entries[0].uses, 10000 / busy_keys);
	failures += expect("version", store.entries[0].version, 10000 / busy_keys);
	failures += expect("sum", store.sum(), 3067);
	return failures != 0;
}

template <typename Work> void print_rate(std::uint64_t operations, Work work)
{
	auto begun = std::chrono::steady_clock::now();

	work();
	std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
	std::printf("rate: %.0f\n", operations / seconds.count());
}

} // namespace

int main(int argc, char **argv)
{
	std::uint64_t operations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000000;
	std::uint64_t sum = 0;

	if (argc > 1 && !std::strcmp(argv[1], "test"))
		return test();
	if (argc > 1 && !std::strcmp(argv[1], "serve")) {
		Store store(busy_keys * key_distance);
		print_rate(operations, [&] { serve(store, operations); });
	} else if (argc > 1 && !std::strcmp(argv[1], "scan")) {
		Store store(scanned_entries);
		print_rate(operations, [&] { sum = scan(store, operations); });
		std::fprintf(stderr, "sum: %llu\n", static_cast<unsigned long long>(sum));
	} else {
		std::fprintf(stderr, "usage: store serve|scan [OPERATIONS]\n       store test\n");
		return 2;
	}
	return 0;
}
