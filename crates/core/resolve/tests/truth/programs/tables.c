/* Tables: chained and open hashing, arrays of structs in structs, arrays of arrays, flexible arrays,
 * strings in members, what grows, bulk copies. */
#include <stdio.h>
#include <stdlib.h>

#include "truth.h"

struct entry {
	struct entry *chain;
	unsigned hash;
	int hits;
	char name[24];
	double weight;
};

struct bucket {
	struct entry *head;
	unsigned length, misses;
};

struct slot {
	unsigned key, value;
	unsigned char used;
};

struct cell {
	short height, heat;
	float wind[3];
};

struct table {
	unsigned mask;
	unsigned long lookups;
	struct bucket buckets[8];
	struct slot open[16];
};

struct text {
	unsigned used, room;
	char bytes[];
};

struct growing {
	struct slot *slots;
	size_t used, room;
};

#define ROWS 4
#define COLUMNS 6
#define ENTRIES 20
#define ROOM 64

static struct table table;
static struct cell grid[ROWS][COLUMNS];
static struct text *log_text;
static struct growing growing;
static struct entry *by_rank[ENTRIES];

static unsigned hash_of(const char *name)
{
	unsigned hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

__attribute__((noinline)) static struct entry *find(struct table *in, const char *name)
{
	unsigned hash = hash_of(name);
	struct bucket *bucket = &in->buckets[hash & in->mask];

	in->lookups++;
	for (struct entry *entry = bucket->head; entry; entry = entry->chain)
		if (entry->hash == hash && !strcmp(entry->name, name))
			return entry;
	bucket->misses++;
	return NULL;
}

static struct entry *insert(struct table *in, const char *name)
{
	struct entry *entry = malloc(sizeof *entry);
	unsigned hash = hash_of(name);
	struct bucket *bucket = in->buckets + (hash & in->mask);

	OBJECT(entry, struct entry);
	memset(entry, 0, sizeof *entry);
	strcpy(entry->name, name);
	entry->hash = hash;
	entry->chain = bucket->head;
	bucket->head = entry;
	bucket->length++;
	return entry;
}

__attribute__((noinline)) static int *open_value(struct table *in, unsigned key)
{
	for (unsigned at = key * 7;; at++) {
		struct slot *slot = &in->open[at % 16];

		if (!slot->used) {
			slot->used = 1;
			slot->key = key;
		}
		if (slot->key == key)
			return (int *)&slot->value;
	}
}

static void grow(struct growing *all)
{
	size_t room = all->room ? all->room * 2 : 4;
	struct slot *slots = malloc(room * sizeof *slots);

	OBJECTS(slots, room, struct slot);
	if (all->used)
		memcpy(slots, all->slots, all->used * sizeof *slots);
	all->slots = slots;
	all->room = room;
}

__attribute__((noinline)) static void push(struct growing *all, struct slot slot)
{
	if (all->used == all->room)
		grow(all);
	all->slots[all->used++] = slot;
}

__attribute__((noinline)) static void blow(struct cell row[COLUMNS], float by)
{
	for (int column = 0; column < COLUMNS; column++) {
		row[column].wind[0] += by;
		row[column].wind[2] -= by;
		row[column].heat++;
	}
}

__attribute__((noinline)) static void note(struct text *text, char byte)
{
	text->bytes[text->used] = byte;
	text->used = (text->used + 1) % text->room;
}

void prepare(void)
{
	MEMBER(struct entry, chain);
	MEMBER(struct entry, hash);
	MEMBER(struct entry, hits);
	MEMBER(struct entry, name);
	MEMBER(struct entry, weight);
	MEMBER(struct bucket, head);
	MEMBER(struct bucket, length);
	MEMBER(struct bucket, misses);
	MEMBER(struct slot, key);
	MEMBER(struct slot, value);
	MEMBER(struct slot, used);
	MEMBER(struct cell, height);
	MEMBER(struct cell, heat);
	MEMBER(struct cell, wind);
	MEMBER(struct table, mask);
	MEMBER(struct table, lookups);
	INNER(struct table, buckets, struct bucket);
	INNER(struct table, open, struct slot);
	MEMBER(struct text, used);
	MEMBER(struct text, room);
	FLEXIBLE(struct text, bytes, ROOM);
	MEMBER(struct growing, slots);
	MEMBER(struct growing, used);
	MEMBER(struct growing, room);
	OBJECT(&table, struct table);
	OBJECTS(grid, ROWS * COLUMNS, struct cell);
	OBJECT(&growing, struct growing);
	SCALAR(log_text);
	truth_scalar(by_rank, sizeof by_rank, "by_rank");
	log_text = malloc(sizeof *log_text + ROOM);
	truth_object(log_text, 1, sizeof *log_text + ROOM, "struct text");
	log_text->used = 0;
	log_text->room = ROOM;
	table.mask = 7;
	for (int n = 0; n < ENTRIES; n++) {
		char name[24];

		snprintf(name, sizeof name, "entry %d", n);
		by_rank[n] = insert(&table, name);
	}
}

void turn(int number)
{
	for (int n = 0; n < ENTRIES; n++) {
		char name[24];
		struct entry *entry;

		snprintf(name, sizeof name, "entry %d", (n * 3 + number) % (ENTRIES + 2));
		entry = find(&table, name);
		if (entry) {
			entry->hits++;
			entry->weight *= 1.5;
			by_rank[n] = entry;
		}
		*open_value(&table, (unsigned)n % 12) += number;
		push(&growing, (struct slot){ (unsigned)n, (unsigned)number, 1 });
		note(log_text, name[0]);
	}
	for (int row = 0; row < ROWS; row++) {
		blow(grid[row], (float)number);
		grid[row][number % COLUMNS].height = (short)row;
	}
	for (size_t n = 0; n < growing.used; n++)
		growing.slots[n].value += growing.slots[n].key;
	for (int n = 0; n < ENTRIES; n++)
		by_rank[n]->name[1] = 'n';
}
