/*
 * Case 2, struct mm_struct: count and owner of mmap_lock, on one line or on two.
 *
 * roles: thread A writes count, the others read owner, as spinners do.
 * xadd:  the same, and A's write is a locked addition, as an arrival's is.
 * both:  every thread adds to count and writes owner, as a lock that goes from hand to hand.
 */
#include "common.h"

#include <mm_types.h>

enum { ROLES, XADD, BOTH };

static const char *const mixes[] = { "roles", "xadd", "both", NULL };
static const long OWNER = 0x1000;
static struct mm_struct *mm;

static void setup(unsigned int threads)
{
	(void)threads;
	mm = slab_alloc(sizeof(*mm));
	NAME_OBJECT(mm, sizeof(*mm), "mm_struct");
	mm->mmap_lock.owner.counter = OWNER;
}

static void write_count(struct worker *self, unsigned long operations)
{
	long count = mm->mmap_lock.count.counter;

	for (unsigned long i = 0; i < operations; i++) {
		WRITE_ONCE(mm->mmap_lock.count.counter, ++count);
		finish_operation();
	}
	self->operations += operations;
}

static void add_count(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		__atomic_fetch_add(&mm->mmap_lock.count.counter, 1, __ATOMIC_SEQ_CST);
		finish_operation();
	}
	self->operations += operations;
}

static void read_owner(struct worker *self, unsigned long operations)
{
	uint64_t sum = self->sum;

	for (unsigned long i = 0; i < operations; i++) {
		sum += (uint64_t)READ_ONCE(mm->mmap_lock.owner.counter);
		finish_operation();
	}
	self->sum = sum;
	self->operations += operations;
}

static void take_and_own(struct worker *self, unsigned long operations)
{
	for (unsigned long i = 0; i < operations; i++) {
		__atomic_fetch_add(&mm->mmap_lock.count.counter, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&mm->mmap_lock.owner.counter, 1, __ATOMIC_SEQ_CST);
		finish_operation();
	}
	self->operations += operations;
}

static struct role role(unsigned int index)
{
	if (mix == BOTH)
		return (struct role){ .work = take_and_own };
	if (index > 0)
		return (struct role){ .work = read_owner };
	return (struct role){ .work = mix == XADD ? add_count : write_count };
}

static bool check(const struct worker *workers, unsigned int threads)
{
	uint64_t writes = 0;
	bool right = true;

	for (unsigned int i = 0; i < threads; i++) {
		if (mix == BOTH || i == 0)
			writes += workers[i].operations;
		else
			right &= equal("a reader's sum", workers[i].sum,
				       workers[i].operations * (uint64_t)OWNER);
	}
	right &= equal("count", (uint64_t)mm->mmap_lock.count.counter, writes);
	right &= equal("owner", (uint64_t)mm->mmap_lock.owner.counter,
		       (uint64_t)OWNER + (mix == BOTH ? writes : 0));
	return right;
}

static void describe(FILE *out)
{
	fprintf(out, "mm_struct %zu\nwrite_protect_seq %zu\nmmap_lock.count %zu\nmmap_lock.owner %zu\n",
		sizeof(struct mm_struct), offsetof(struct mm_struct, write_protect_seq),
		offsetof(struct mm_struct, mmap_lock.count),
		offsetof(struct mm_struct, mmap_lock.owner));
}

const struct program program = {
	.name = "mm_struct",
	.mixes = mixes,
	.threads_min = 2,
	.setup = setup,
	.role = role,
	.check = check,
	.describe = describe,
};
