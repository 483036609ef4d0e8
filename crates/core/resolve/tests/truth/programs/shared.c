/* What threads share: atomics of all widths, spin locks, a sequence lock, reference counts, mutexes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "truth.h"

struct spin {
	atomic_uint word;
};

struct counted {
	atomic_int refs;
	struct spin lock;
	unsigned long value;
	atomic_ulong wide;
	atomic_uchar narrow;
	_Atomic(struct counted *) link;
};

struct sequence {
	atomic_uint count;
	long a, b;
};

struct ring {
	atomic_size_t head __attribute__((aligned(64)));
	atomic_size_t tail __attribute__((aligned(64)));
	struct counted *slots[8];
};

struct guarded {
	pthread_mutex_t mutex;
	long balance;
	pthread_spinlock_t spin;
};

struct wide {
	unsigned long low, high;
};

static struct ring ring;
static struct sequence sequence;
static struct guarded *guarded;
static struct counted *all[8];
static atomic_long total;
static struct wide pair __attribute__((aligned(16)));

static void spin_lock(struct spin *lock)
{
	while (atomic_exchange(&lock->word, 1))
		;
}

static void spin_unlock(struct spin *lock)
{
	atomic_store(&lock->word, 0);
}

__attribute__((noinline)) static void get(struct counted *counted)
{
	int refs = atomic_load(&counted->refs);

	while (!atomic_compare_exchange_weak(&counted->refs, &refs, refs + 1))
		;
}

__attribute__((noinline)) static int put(struct counted *counted)
{
	return atomic_fetch_sub(&counted->refs, 1) == 1;
}

__attribute__((noinline)) static void publish(struct sequence *to, long value)
{
	atomic_fetch_add(&to->count, 1);
	to->a = value;
	to->b = -value;
	atomic_fetch_add(&to->count, 1);
}

__attribute__((noinline)) static void push(struct ring *to, struct counted *counted)
{
	size_t at = atomic_fetch_add(&to->tail, 1);

	to->slots[at % 8] = counted;
}

__attribute__((noinline)) static struct counted *pop(struct ring *from)
{
	return from->slots[atomic_fetch_add(&from->head, 1) % 8];
}

void prepare(void)
{
	MEMBER(struct spin, word);
	MEMBER(struct counted, refs);
	INNER(struct counted, lock, struct spin);
	MEMBER(struct counted, value);
	MEMBER(struct counted, wide);
	MEMBER(struct counted, narrow);
	MEMBER(struct counted, link);
	MEMBER(struct sequence, count);
	MEMBER(struct sequence, a);
	MEMBER(struct sequence, b);
	MEMBER(struct ring, head);
	MEMBER(struct ring, tail);
	MEMBER(struct ring, slots);
	OPAQUE(struct guarded, mutex);
	MEMBER(struct guarded, balance);
	MEMBER(struct guarded, spin);
	MEMBER(struct wide, low);
	MEMBER(struct wide, high);
	OBJECT(&ring, struct ring);
	OBJECT(&sequence, struct sequence);
	SCALAR(guarded);
	truth_scalar(all, sizeof all, "all");
	SCALAR(total);
	OBJECT(&pair, struct wide);
	guarded = malloc(sizeof *guarded);
	OBJECT(guarded, struct guarded);
	pthread_mutex_init(&guarded->mutex, NULL);
	pthread_spin_init(&guarded->spin, PTHREAD_PROCESS_PRIVATE);
	guarded->balance = 0;
	for (int n = 0; n < 8; n++) {
		all[n] = aligned_alloc(64, 64);
		OBJECT(all[n], struct counted);
		memset(all[n], 0, sizeof *all[n]);
		atomic_store(&all[n]->link, n ? all[n - 1] : NULL);
		push(&ring, all[n]);
	}
}

void turn(int number)
{
	struct counted *counted = pop(&ring);
	__int128 *both = (__int128 *)&pair;

	push(&ring, counted);
	get(counted);
	spin_lock(&counted->lock);
	counted->value += (unsigned long)number;
	spin_unlock(&counted->lock);
	atomic_fetch_or(&counted->wide, 8);
	atomic_fetch_xor(&counted->narrow, 1);
	for (struct counted *at = atomic_load(&all[7]->link); at; at = atomic_load(&at->link)) {
		at->value++;
		atomic_fetch_add(&total, (long)atomic_load(&at->wide));
	}
	publish(&sequence, number);
	if (put(counted))
		total += sequence.a;
	pthread_mutex_lock(&guarded->mutex);
	guarded->balance += number;
	pthread_mutex_unlock(&guarded->mutex);
	pthread_spin_lock(&guarded->spin);
	guarded->balance--;
	pthread_spin_unlock(&guarded->spin);
	pair.low++;
	__sync_bool_compare_and_swap(both, *both, *both + 1);
	pair.high ^= pair.low;
}
