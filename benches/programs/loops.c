/* CPU-bound loops whose memory accesses are nearly all of their work: the worst case for recording a
 * program that is built with the collector. Each prints a checksum, so that none is optimised away.
 *
 *     loops NAME [SCALE]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256, WORDS = 1 << 16 };

static double a[N][N], b[N][N], c[N][N];

/* Floating point over arrays: three accesses per multiplication. */
static uint64_t matrix(int scale)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = i ^ j;
			b[i][j] = i + j;
		}
	for (int round = 0; round < scale; round++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++) {
				c[i][j] = 0;
				for (int k = 0; k < N; k++)
					c[i][j] += a[i][k] * b[k][j];
			}
	return (uint64_t)c[N - 1][N - 1];
}

/* A hash table: an access to a random place, then to the same place. */
static uint64_t table(int scale)
{
	static uint32_t slots[WORDS];
	uint64_t x = 1, sum = 0;
	for (long i = 0; i < 4000000L * scale; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		slots[x >> 48]++;
		sum += slots[(x >> 32) % WORDS];
	}
	return sum;
}

/* Pointers: each load waits for the one before. */
struct node {
	struct node *next;
	uint64_t value;
};

static uint64_t list(int scale)
{
	static struct node nodes[WORDS];
	uint64_t sum = 0;
	for (uint32_t i = 0; i < WORDS; i++) {
		nodes[i].next = &nodes[(i * 40503u + 1) % WORDS];
		nodes[i].value = i;
	}
	struct node *at = nodes;
	for (long i = 0; i < 8000000L * scale; i++) {
		sum += at->value;
		at = at->next;
	}
	return sum;
}

/* Bytes: many small accesses to few lines. */
static uint64_t bytes(int scale)
{
	static unsigned char text[WORDS];
	uint64_t sum = 0;
	for (int i = 0; i < WORDS; i++)
		text[i] = (unsigned char)(i * 31);
	for (int round = 0; round < 100 * scale; round++)
		for (int i = 1; i < WORDS; i++) {
			text[i] ^= (unsigned char)(text[i - 1] + round);
			sum += text[i];
		}
	return sum;
}

static const struct {
	const char *name;
	uint64_t (*run)(int scale);
} loops[] = { { "matrix", matrix }, { "table", table }, { "list", list }, { "bytes", bytes } };

int main(int argc, char **argv)
{
	int scale = argc > 2 ? atoi(argv[2]) : 1;
	for (size_t i = 0; argc > 1 && i < sizeof(loops) / sizeof(*loops); i++)
		if (strcmp(argv[1], loops[i].name) == 0) {
			printf("%s %llu\n", argv[1], (unsigned long long)loops[i].run(scale));
			return 0;
		}
	fprintf(stderr, "usage: loops matrix|table|list|bytes [SCALE]\n");
	return 2;
}
