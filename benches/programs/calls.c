/* A hash table of small records, all of whose work is copies, fills and comparisons of a constant size. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct record {
	char key[24];
	uint32_t number;
	char value[40];
};

static struct record table[4096];

static uint64_t hash(const char *key, size_t bytes)
{
	uint64_t hash = bytes;
	for (size_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t word;
		memcpy(&word, key + at, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash;
}

int main(void)
{
	uint64_t sum = 0;
	for (uint32_t number = 0; number < 300000; number++) {
		struct record record;
		memset(&record, 0, sizeof record);
		memcpy(record.key, &number, 4);
		record.number = number;
		struct record *at = &table[hash(record.key, 24) & 4095];
		if (memcmp(at->key, record.key, 24) != 0)
			memcpy(at, &record, sizeof record);
		sum += at->number;
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
