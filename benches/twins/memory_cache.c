/*
 * .NET's MemoryCache with a size limit: each operation loads `_stringEntries` of CoherentState, and each Set() changes
 * `_cacheSize` twice. Seven operations of eight are TryGetValue(), one is Set(), of one of 1,024 keys.
 */
#include "common.h"
#include "marker.h"

#include "memory_cache.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEYS 1024u
#define BUCKETS 1361u
#define LOCKS 1024u
#define SIZE_LIMIT (1 << 20)
#define EXCHANGES_MAX 100u
/* Entries that a thread allocates until it begins anew: a millisecond has a tenth of them. */
#define ENTRIES 8192u
#define ENTRY_BYTES 128u
/* One operation of so many is a Set(). */
#define OPERATIONS_PER_SET 8u
/* Of so many operations, one may miss. */
#define MISSES_PART 1000
#define TICKS_PER_SECOND 10000000ull

/* What a thread allocates from, as from its part of the youngest generation. */
struct allocation {
	char *entries;
	unsigned int next;
	uint64_t random;
} __attribute__((aligned(256)));

static struct memory_cache *cache;
static struct string *keys;
static struct allocation *allocations;
static struct object a_type;

static uint64_t utc_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * TICKS_PER_SECOND + (uint64_t)now.tv_nsec / 100;
}

static uint32_t hash_string(const struct string *key)
{
	uint32_t hash = 5381;

	for (int32_t i = 0; i < READ_ONCE(key->length); i++)
		hash = (hash << 5 | hash >> 27) + (hash ^ READ_ONCE(key->chars[i]));
	return hash;
}

static bool equal_strings(const struct string *one, const struct string *other)
{
	return one == other ||
	       (one->length == other->length &&
		memcmp(one->chars, other->chars, (size_t)one->length * sizeof(*one->chars)) == 0);
}

/* The node of a key. Without a lock: nodes stay where they are, and their value is one word. */
static struct node *find_node(struct tables *tables, const struct string *key, uint32_t hash)
{
	struct node *node = READ_ONCE(tables->buckets[hash % BUCKETS]);

	while (node && (node->hash != hash || !equal_strings(node->key, key)))
		node = node->next;
	return node;
}

static struct cache_entry *try_get_entry(struct coherent_state *state, const struct string *key)
{
	struct dictionary *dictionary = READ_ONCE(state->string_entries);
	struct node *node = find_node(READ_ONCE(dictionary->tables), key, hash_string(key));

	return node ? __atomic_load_n(&node->value, __ATOMIC_ACQUIRE) : NULL;
}

static void take_lock(uint64_t *lock)
{
	uint64_t free = 0;

	while (!__atomic_compare_exchange_n(lock, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		cpu_relax();
		free = 0;
	}
}

/* Replaces the value of a key, if it is still the one that was seen. */
static bool try_update(struct coherent_state *state, const struct string *key, struct cache_entry *entry,
		       const struct cache_entry *seen)
{
	struct dictionary *dictionary = READ_ONCE(state->string_entries);
	struct tables *tables = READ_ONCE(dictionary->tables);
	uint32_t hash = hash_string(key);
	uint64_t *lock = &tables->locks[hash % BUCKETS % LOCKS].lock;
	struct node *node;
	bool is_seen;

	take_lock(lock);
	node = find_node(tables, key, hash);
	is_seen = node && node->value == seen;
	if (is_seen)
		__atomic_store_n(&node->value, entry, __ATOMIC_RELEASE);
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
	return is_seen;
}

static bool is_expired(const struct cache_entry *entry)
{
	return READ_ONCE(entry->is_expired) || READ_ONCE(entry->absolute_expiration_ticks) >= 0 ||
	       READ_ONCE(entry->sliding_expiration_ticks) != 0 || READ_ONCE(entry->tokens);
}

static void set_expired(struct cache_entry *entry, enum eviction_reason reason)
{
	if (READ_ONCE(entry->eviction_reason) == EVICTION_NONE)
		WRITE_ONCE(entry->eviction_reason, reason);
	WRITE_ONCE(entry->is_expired, 1);
}

static void scan_if_needed(uint64_t now)
{
	if (READ_ONCE(cache->options->expiration_scan_ticks) < (int64_t)(now - READ_ONCE(cache->last_expiration_scan)))
		abort();
}

static bool try_get_value(const struct string *key, uint64_t *value)
{
	struct coherent_state *state = READ_ONCE(cache->coherent_state);
	struct cache_entry *entry;
	uint64_t now;

	if (READ_ONCE(cache->disposed))
		abort();
	entry = try_get_entry(state, key);
	now = utc_now();
	if (!entry || (is_expired(entry) && READ_ONCE(entry->eviction_reason) != EVICTION_REPLACED))
		return false;
	WRITE_ONCE(entry->last_accessed, now);
	*value = READ_ONCE(entry->value);
	scan_if_needed(now);
	return true;
}

/* Adds an entry's size, unless the limit is exceeded; `_cacheSize` is loaded, and exchanged. */
static bool try_add_size(struct coherent_state *state, const struct cache_entry *entry, const struct cache_entry *prior)
{
	int64_t limit = READ_ONCE(cache->options->size_limit);
	int64_t size;

	if (limit < 0)
		return true;
	size = __atomic_load_n(&state->cache_size, __ATOMIC_ACQUIRE);
	for (unsigned int i = 0; i < EXCHANGES_MAX; i++) {
		if (size + entry->size - prior->size > limit)
			return false;
		if (__atomic_compare_exchange_n(&state->cache_size, &size, size + entry->size, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

static void subtract_size(struct coherent_state *state, const struct cache_entry *entry)
{
	if (READ_ONCE(cache->options->size_limit) >= 0)
		__atomic_fetch_sub(&state->cache_size, entry->size, __ATOMIC_SEQ_CST);
}

/* The next entry of a thread that is in no dictionary: .NET's collector would have moved the others away. */
static struct cache_entry *allocate_entry(struct allocation *from)
{
	struct cache_entry *entry;

	do {
		entry = (struct cache_entry *)(from->entries + (size_t)from->next * ENTRY_BYTES);
		from->next = (from->next + 1) % ENTRIES;
	} while (entry->key && !READ_ONCE(entry->is_expired));
	return entry;
}

static void construct_entry(struct cache_entry *entry, const struct string *key, uint64_t value)
{
	*entry = (struct cache_entry){
		.object.method_table = &a_type,
		.cache = cache,
		.key = key,
		.value = value,
		.absolute_expiration_ticks = -1,
		.size = 1,
		.is_value_set = 1,
	};
}

/* Set(), and SetEntry() below it, for a key that is there. */
static bool set_value(struct allocation *from, const struct string *key, uint64_t value)
{
	struct cache_entry *entry = allocate_entry(from), *prior;
	struct coherent_state *state;
	uint64_t now;

	construct_entry(entry, key, value);
	WRITE_ONCE(entry->is_disposed, 1);
	now = utc_now();
	WRITE_ONCE(entry->last_accessed, now);
	state = READ_ONCE(cache->coherent_state);
	prior = try_get_entry(state, key);
	set_expired(prior, EVICTION_REPLACED);
	if (!try_add_size(state, entry, prior)) {
		set_expired(entry, EVICTION_REMOVED);
		return false;
	}
	if (try_update(state, key, entry, prior)) {
		subtract_size(state, prior);
	} else {
		/* Another thread has replaced it; adding the key fails, since it is there. */
		subtract_size(state, entry);
		set_expired(entry, EVICTION_REPLACED);
	}
	scan_if_needed(now);
	return true;
}

/* Keys in an order of their own for each thread. */
static const struct string *next_key(struct allocation *from)
{
	from->random = from->random * 6364136223846793005ull + 1442695040888963407ull;
	return &keys[from->random >> 54];
}

/* A key's value is the key's number, so that every value that is found can be told to be right. */
static void work(struct worker *self, unsigned long operations)
{
	struct allocation *from = &allocations[self->index];

	for (unsigned long i = 0; i < operations; i++) {
		const struct string *key = next_key(from);
		uint64_t value = (uint64_t)(key - keys);

		if (i % OPERATIONS_PER_SET == 0)
			self->sum += set_value(from, key, value);
		else
			self->sum += try_get_value(key, &value) && value == (uint64_t)(key - keys);
		MARK(OPERATION);
		work_apart();
	}
	self->operations += operations;
}

static struct dictionary *create_dictionary(struct dictionary *dictionary)
{
	struct tables *tables = slab_alloc(sizeof(*tables));

	tables->buckets = slab_alloc(BUCKETS * sizeof(*tables->buckets));
	tables->locks = slab_alloc(LOCKS * sizeof(*tables->locks));
	tables->count_per_lock = slab_alloc(LOCKS * sizeof(*tables->count_per_lock));
	dictionary->tables = tables;
	return dictionary;
}

static void fill(struct dictionary *dictionary)
{
	struct node *nodes = slab_alloc(KEYS * sizeof(*nodes));
	char *entries = slab_alloc(KEYS * ENTRY_BYTES);

	keys = slab_alloc(KEYS * sizeof(*keys));
	for (unsigned int i = 0; i < KEYS; i++) {
		struct node *node = &nodes[i], **bucket;
		char text[16];

		keys[i].length = snprintf(text, sizeof(text), "key%u", i);
		for (int32_t at = 0; at < keys[i].length; at++)
			keys[i].chars[at] = (uint16_t)text[at];
		node->key = &keys[i];
		node->hash = hash_string(node->key);
		node->value = (struct cache_entry *)(entries + (size_t)i * ENTRY_BYTES);
		construct_entry(node->value, node->key, i);
		bucket = &dictionary->tables->buckets[node->hash % BUCKETS];
		node->next = *bucket;
		*bucket = node;
	}
}

static void setup(unsigned int threads)
{
	struct memory_cache_options *options = slab_alloc(sizeof(*options));
	/* The two dictionaries are allocated right behind the object that refers to them. */
	struct {
		struct coherent_state state;
		struct dictionary string_entries, non_string_entries;
	} *together = slab_alloc(sizeof(*together));

	cache = slab_alloc(sizeof(*cache));
	cache->options = options;
	cache->coherent_state = &together->state;
	cache->last_expiration_scan = utc_now();
	options->size_limit = mix == 0 ? SIZE_LIMIT : -1;
	/* A minute in .NET, which is longer than this program runs. */
	options->expiration_scan_ticks = 3600 * (int64_t)TICKS_PER_SECOND;
	together->state.string_entries = create_dictionary(&together->string_entries);
	together->state.non_string_entries = create_dictionary(&together->non_string_entries);
	NAME_OBJECT(&together->state, sizeof(together->state), "coherent_state");
	fill(together->state.string_entries);
	together->state.cache_size = mix == 0 ? KEYS : 0;

	allocations = slab_alloc(threads * sizeof(*allocations));
	for (unsigned int i = 0; i < threads; i++) {
		allocations[i].entries = slab_alloc((size_t)ENTRIES * ENTRY_BYTES);
		allocations[i].random = i * 0x9e3779b97f4a7c15ull;
	}
}

static struct role role(unsigned int index)
{
	(void)index;
	return (struct role){ .work = work };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	const struct coherent_state *state = cache->coherent_state;
	bool right = equal("cache_size", (uint64_t)state->cache_size, mix == 0 ? KEYS : 0);

	for (unsigned int i = 0; i < threads; i++)
		/*
		 * An entry may be used anew while a thread that was preempted still looks at it, which misses then:
		 * .NET's collector would have kept it.
		 */
		if (workers[i].operations - workers[i].sum > workers[i].operations / MISSES_PART)
			right &= equal("a thread's hits and sets", workers[i].sum, workers[i].operations);
	for (unsigned int i = 0; i < KEYS; i++) {
		const struct cache_entry *entry = try_get_entry(cache->coherent_state, &keys[i]);

		right &= equal("a key's value", entry->value, i);
	}
	return right;
}

static void describe(FILE *out)
{
	fprintf(out, "coherent_state %zu\nstring_entries %zu\nnon_string_entries %zu\ncache_size %zu\n",
		sizeof(struct coherent_state), offsetof(struct coherent_state, string_entries),
		offsetof(struct coherent_state, non_string_entries), offsetof(struct coherent_state, cache_size));
}

static const char *const mixes[] = { "sized", "unsized", NULL };

const struct program program = {
	.name = "memory_cache",
	.mixes = mixes,
	.threads_min = 1,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
