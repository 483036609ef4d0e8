/*
 * Case 1, struct pcpu_chunk: thread A allocates from a chunk and frees again, which writes free_bytes
 * and chunk_md; the other threads look where it is, which reads base_addr.
 */
#include "common.h"

#include <pcpu_chunk.h>
#include <stdlib.h>

#define CHUNK_BYTES 4096
#define AREA_BYTES 8

static struct pcpu_chunk *chunk;
static char *base;

static void setup(unsigned int threads)
{
	(void)threads;
	base = slab_alloc(CHUNK_BYTES);
	chunk = slab_alloc(sizeof(*chunk) + sizeof(unsigned long));
	NAME_OBJECT(chunk, sizeof(*chunk), "pcpu_chunk");
	chunk->base_addr = base;
	chunk->free_bytes = CHUNK_BYTES;
	chunk->chunk_md.contig_hint = CHUNK_BYTES;
}

/* What pcpu_alloc_area() and pcpu_free_area() write, under pcpu_lock, with a block's hints. */
static void take(int bytes)
{
	int left = READ_ONCE(chunk->free_bytes) - bytes;

	WRITE_ONCE(chunk->free_bytes, left);
	WRITE_ONCE(chunk->chunk_md.contig_hint, left);
	WRITE_ONCE(chunk->chunk_md.first_free, CHUNK_BYTES - left);
}

static void allocate(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		take(i % 2 ? -AREA_BYTES : AREA_BYTES);
		self->sum += (uint64_t)READ_ONCE(chunk->free_bytes);
		finish_operation();
	}
	self->operations += operations;
}

/* pcpu_chunk_addr_in_chunk() and free_percpu(): where in the chunk an address is. */
static void look_up(struct worker *self, unsigned long operations)
{
	const char *at = base + AREA_BYTES;
	uint64_t sum = self->sum;

	for (unsigned long i = 0; i < operations; i++) {
		sum += (uint64_t)(at - (char *)READ_ONCE(chunk->base_addr));
		finish_operation();
	}
	self->sum = sum;
	self->operations += operations;
}

static struct role role(unsigned int index)
{
	return (struct role){ .work = index == 0 ? allocate : look_up };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	const uint64_t half = workers[0].operations / 2;
	bool right = equal("free_bytes", (uint64_t)chunk->free_bytes, CHUNK_BYTES);

	right &= equal("contig_hint", (uint64_t)chunk->chunk_md.contig_hint, CHUNK_BYTES);
	right &= equal("A's sum", workers[0].sum, half * (2 * CHUNK_BYTES - AREA_BYTES));
	for (unsigned int i = 1; i < threads; i++)
		right &= equal("a reader's sum", workers[i].sum, workers[i].operations * AREA_BYTES);
	return right;
}

static void describe(FILE *out)
{
	fprintf(out, "pcpu_chunk %zu\nfree_bytes %zu\nchunk_md %zu\nbase_addr %zu\n",
		sizeof(struct pcpu_chunk), offsetof(struct pcpu_chunk, free_bytes),
		offsetof(struct pcpu_chunk, chunk_md), offsetof(struct pcpu_chunk, base_addr));
}

const struct program program = {
	.name = "pcpu_chunk",
	.threads_min = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
