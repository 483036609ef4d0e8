/* Types and variables of made-up recordings. Each variable begins on a cache line. */

#define ON_A_LINE __attribute__((aligned(64)))

/* Two words on the first of two lines. */
struct hot {
	long first;
	long second;
	long unused[14];
};
struct hot hot ON_A_LINE;

/* Four to a line, by the names of a tag, of a typedef, and of a variable alone. */
struct worker {
	long jobs;
	long limit;
};
struct worker workers[4] ON_A_LINE;
typedef struct {
	long hits;
	long misses;
} cache_stats;
cache_stats stats[4] ON_A_LINE;
struct {
	long in;
	long out;
} ports[4] ON_A_LINE;
union slot {
	long number;
	double fraction;
};
union slot slots[4] ON_A_LINE;
long counters[16] ON_A_LINE;

/* Two variables without members on one line, and one that has a line to itself. */
long served ON_A_LINE;
long dropped;
struct single {
	long value;
};
struct single single ON_A_LINE;

/* A variable on one line and a half, which shares the second with the next variable. */
struct board {
	long pending;
	long enabled;
	long trace[10];
};
struct board board ON_A_LINE;
long rounds;

/* A struct in a struct, at its start and elsewhere. */
struct embedded {
	struct worker inner;
	long total;
	long rest[13];
};
struct embedded embedded ON_A_LINE;
struct embedded_later {
	long total;
	struct worker inner;
	long rest[13];
};
struct embedded_later embedded_later ON_A_LINE;

/* Arrays without elements mark a range. The last one is a flexible array. */
struct marked {
	long first;
	int copy_begin[0];
	long second;
	int copy_end[0];
	long rest[14];
};
struct marked marked ON_A_LINE;
struct packet {
	long used;
	long size;
	int payload[];
};
struct packet packet ON_A_LINE;

/* An array that is a member. */
struct progress {
	long limit;
	long done[4];
};
struct progress progress ON_A_LINE;

/* An array of structs that is a member, and a struct that holds nothing but an array. */
struct pool {
	long total;
	struct worker workers[2];
	long rest[11];
};
struct pool pool ON_A_LINE;
struct bits {
	long words[4];
};
struct bitmap {
	struct bits bits;
	long total;
};
struct bitmap bitmap ON_A_LINE;

struct many {
	long a, b, c, d, e, f, g, h, i, j;
};
struct many many ON_A_LINE;

/* Each CPU has a copy. */
struct worker per_cpu_worker ON_A_LINE;

struct __attribute__((packed)) frame {
	char tag;
	long count;
};
struct frame frame ON_A_LINE;

/* Two types for the same memory. */
struct queue {
	long head;
	long tail;
};
struct job {
	long state;
	long owner;
};
struct queue *some_queue;
struct job *some_job;
/* Variables that are called as other structs are, of which one is a member only. */
struct job queue ON_A_LINE;
struct job bits ON_A_LINE;

void store_first(struct hot *hot, long value)
{
	hot->first = value;
}

void store_second(struct hot *hot, long value)
{
	hot->second = value;
}

long load_head(struct queue *queue)
{
	return queue->head;
}

long load_tail(struct queue *queue)
{
	return queue->tail;
}

long load_state(struct job *job)
{
	return job->state;
}

long draw_number(struct hot *hot)
{
	return __sync_fetch_and_add(&hot->first, 1);
}

void count_up(struct hot *hot)
{
	__sync_fetch_and_add(&hot->first, 1);
}

int release(struct hot *hot)
{
	return __sync_sub_and_fetch(&hot->first, 1) == 0;
}

void count_down(struct hot *hot)
{
	__sync_fetch_and_sub(&hot->first, 1);
}

long exchange(struct hot *hot, long value)
{
	return __atomic_exchange_n(&hot->first, value, __ATOMIC_SEQ_CST);
}

int compare_exchange(struct hot *hot, long value)
{
	return __sync_bool_compare_and_swap(&hot->first, 0, value);
}

void set_bit(struct hot *hot)
{
	__sync_fetch_and_or(&hot->first, 4);
}

__attribute__((noipa)) void *malloc(unsigned long bytes);
__attribute__((noipa)) void *aligned_alloc(unsigned long align, unsigned long bytes);

void make_queues(void)
{
	some_queue = malloc(sizeof(*some_queue));
	some_job = aligned_alloc(64, sizeof(*some_job));
}

void *malloc(unsigned long bytes)
{
	static char memory[16];
	return bytes > 16 ? 0 : memory;
}

void *aligned_alloc(unsigned long align, unsigned long bytes)
{
	return malloc(bytes + align);
}

#line 1 "entry.S"
void store_in_assembler(struct hot *hot, long value)
{
	hot->second = value;
}

#line 1 "include/linux/helper.h"
static inline __attribute__((always_inline)) void set_word(long *word, long value)
{
	*word = value;
}

#line 1 "user.c"
static inline __attribute__((always_inline)) void set_second(struct hot *hot, long value)
{
	hot->second = value;
}

void store_by_helper(struct hot *hot, long value)
{
	set_word(&hot->second, value);
}

void store_by_own(struct hot *hot, long value)
{
	set_second(hot, value);
}

#line 1 "include/uapi/linux/usage.h"
struct usage {
	long reads;
	long writes;
};
struct usage usage ON_A_LINE;

#line 1 "src/ring.rs"
struct ring {
	long head;
	long tail;
	int capacity;
	char closed;
};
struct ring ring ON_A_LINE;
struct ring_of_c {
	char closed;
	long head;
	long tail;
};
struct ring_of_c ring_of_c ON_A_LINE;
