/*
 * Objects of .NET's MemoryCache and of the ConcurrentDictionary in it, as the runtime lays them out: a pointer to the
 * type, then references, then numbers from large to small. Members that this program never touches are left out where
 * nothing lies behind them.
 */
#ifndef MEMORY_CACHE_H
#define MEMORY_CACHE_H

#include <stdint.h>

/* What every object begins with. The word before it holds its lock, which has the end of the object before. */
struct object {
	const void *method_table;
};

struct string {
	struct object object;
	int32_t length;
	uint16_t chars[10];
};

enum eviction_reason { EVICTION_NONE, EVICTION_REMOVED, EVICTION_REPLACED, EVICTION_EXPIRED };

struct cache_entry {
	struct object object;
	void *cache, *tokens, *previous;
	const struct string *key;
	uint64_t value;
	int64_t absolute_expiration_ticks, sliding_expiration_ticks;
	int64_t size;
	uint64_t last_accessed;
	int32_t absolute_expiration_offset;
	uint8_t eviction_reason, priority;
	uint8_t is_disposed, is_expired, is_value_set;
};

struct node {
	struct object object;
	const struct string *key;
	struct cache_entry *value;
	struct node *next;
	uint32_t hash;
	uint64_t lock_of_next;
};

/* One of the locks of a dictionary: an object without members, taken by the word before the next object. */
struct lock_object {
	uint64_t lock;
	struct object object;
	uint64_t unused;
};

struct tables {
	struct object object;
	void *comparer;
	struct node **buckets;
	struct lock_object *locks;
	int32_t *count_per_lock;
	uint64_t multiplier;
};

struct dictionary {
	struct object object;
	struct tables *tables;
	void *comparer;
	int64_t budget_and_growth;
};

#define CACHE_LINE_SIZE 128

/* What an operation takes a reference to once, so that Clear() replaces all of it. */
struct coherent_state {
	struct object object;
	struct dictionary *string_entries;
	struct dictionary *non_string_entries;
#ifdef LAYOUT_GOOD
	void *string_alternate_lookup;
	char before[CACHE_LINE_SIZE];
	int64_t cache_size;
	char behind[CACHE_LINE_SIZE - sizeof(int64_t)];
#else
	int64_t cache_size;
	void *string_alternate_lookup;
#endif
};

struct memory_cache_options {
	struct object object;
	int64_t expiration_scan_ticks;
	/* -1: none. */
	int64_t size_limit;
};

struct memory_cache {
	struct object object;
	struct memory_cache_options *options;
	struct coherent_state *coherent_state;
	void *statistics;
	uint64_t last_expiration_scan;
	uint8_t disposed, tracks_linked_entries;
};

#endif
