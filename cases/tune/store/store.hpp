// State of a small key-value store that a reader thread and a writer thread share.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace store {

// The log of writes. The writer appends, the reader tells how far it has read.
struct WriteLog {
	std::atomic<std::uint64_t> appended{0};
	std::atomic<std::uint64_t> consumed{0};
	std::uint32_t segment_bytes = 1 << 20;
	std::uint32_t segment_count = 4;
};

// Counters that the store reports. The reader counts lookups, the writer updates.
struct StoreCounters {
	std::uint64_t opened_at = 0;
	std::atomic<std::uint64_t> lookups{0};
	std::atomic<std::uint64_t> updates{0};
	std::uint64_t memory_limit = 0;
};

// A key with its value. The reader counts its uses, the writer its versions. Two fit a cache line, and none straddles.
struct alignas(32) Entry {
	std::uint64_t key = 0;
	std::uint64_t value = 0;
	std::atomic<std::uint64_t> uses{0};
	std::atomic<std::uint64_t> version{0};
};

class Store {
public:
	explicit Store(std::size_t entries);

	void look_up(std::size_t index);
	void update(std::size_t index);
	std::uint64_t sum() const;

	WriteLog log;
	alignas(64) StoreCounters counters;
	alignas(64) std::vector<Entry> entries;
};

} // namespace store
