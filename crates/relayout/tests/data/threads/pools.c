/* Memory with a part for each thread, by all ways of allocation. */
#include <string.h>

#include "threads.h"

/* From posix_memalign, at a line's start. */
struct arena {
	unsigned long used;
	unsigned long limit;
	unsigned long wasted;
};

/* A union with a struct, from aligned_alloc. */
union sample {
	struct {
		unsigned int low;
		unsigned int high;
	} parts;
	unsigned long whole;
};

/* A typedef without a tag, from malloc. */
typedef struct {
	unsigned short kind;
	unsigned short flags;
	unsigned int uses;
	unsigned long owner;
} handle;

/* One member, static. */
struct epoch {
	unsigned long now;
};

/* Nested and static: two cells to a thread, of which one is only read by all. */
struct cell {
	unsigned int key;
	unsigned int count;
};

struct bin {
	struct cell hot;
	struct cell cold;
	unsigned char tag[4];
	unsigned int size;
};

/* Allocated one by one, with malloc: 24 bytes each, two to a line. */
struct token {
	unsigned long value;
	unsigned long uses;
};

/* Bits of each thread, from realloc. */
typedef union {
	unsigned char bytes[8];
	unsigned long bits;
} bitmap_word;

static struct arena *arenas;
static union sample *samples;
static handle *handles;
static struct epoch epochs[THREADS];
static struct bin bins[THREADS];
static struct token *tokens[THREADS];
static bitmap_word *bitmap;

static void run(long number)
{
	struct token *token = tokens[number];

	for (long i = 0; i < rounds; i++) {
		meet_every(256, i);
		each_round();
		arenas[number].used += 16;
		if (arenas[number].used > arenas[number].limit)
			arenas[number].used = 0;
		samples[number].parts.low++;
		handles[number].uses++;
		handles[number].flags ^= i & 1;
		each_round();
		epochs[number].now = i;
		bins[number].hot.count++;
		bins[number].size += bins[(number + 1) % THREADS].cold.key;
		each_round();
		token->value += i;
		token->uses++;
		__atomic_fetch_or(&bitmap[number].bits, 1ul << (i & 63), __ATOMIC_RELAXED);
	}
}

static void *zeroed(void *memory, size_t bytes)
{
	return memset(memory, 0, bytes);
}

int main(int count, char **words)
{
	void *memory;

	if (posix_memalign(&memory, 64, THREADS * sizeof(*arenas)))
		return 1;
	arenas = zeroed(memory, THREADS * sizeof(*arenas));
	samples = zeroed(aligned_alloc(64, 64), 64);
	handles = zeroed(malloc(THREADS * sizeof(*handles)), THREADS * sizeof(*handles));
	bitmap = zeroed(realloc(NULL, THREADS * sizeof(*bitmap)), THREADS * sizeof(*bitmap));
	for (int i = 0; i < THREADS; i++) {
		arenas[i].limit = 4096;
		tokens[i] = zeroed(malloc(sizeof(struct token)), sizeof(struct token));
	}
	run_threads(count, words);
	printf("%lu %lu\n", arenas[0].used + samples[1].whole, epochs[2].now + bins[3].size);
	for (int i = 0; i < THREADS; i++)
		free(tokens[i]);
	free(arenas);
	free(samples);
	free(handles);
	free(bitmap);
	return 0;
}
