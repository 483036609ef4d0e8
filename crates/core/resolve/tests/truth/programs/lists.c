/* Lists: embedded links and container_of, nested structs, pointers into the middle, callbacks. */
#include <stdlib.h>

#include "truth.h"

struct list_head {
	struct list_head *next, *prev;
};

struct stamp {
	long seconds;
	int nanos;
	int zone;
};

struct job {
	unsigned id;
	unsigned short state;
	unsigned char flags;
	struct list_head queue;
	struct stamp created, done;
	struct list_head owned;
	long cost;
};

struct owner {
	struct list_head jobs;
	unsigned count;
	long total;
	int (*pick)(struct job *, long);
	struct owner *next;
};

#define container_of(p, T, m) ((T *)((char *)(p)-offsetof(T, m)))
#define JOBS 12
#define OWNERS 3

static struct list_head queue = { &queue, &queue };
static struct owner *owners;
static long *watched;
static unsigned sequence;

static void list_add_tail(struct list_head *new, struct list_head *head)
{
	struct list_head *last = head->prev;

	new->next = head;
	new->prev = last;
	last->next = new;
	head->prev = new;
}

static void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
}

__attribute__((noinline)) static void stamp_set(struct stamp *stamp, long at)
{
	stamp->seconds = at;
	stamp->nanos = (int)(at * 7);
	stamp->zone = 1;
}

__attribute__((noinline)) static int cheap(struct job *job, long limit)
{
	return job->cost < limit && !(job->flags & 4);
}

static struct job *job_new(struct owner *owner)
{
	struct job *job = calloc(1, sizeof *job);

	OBJECT(job, struct job);
	job->id = sequence++;
	job->cost = job->id * 3;
	list_add_tail(&job->queue, &queue);
	list_add_tail(&job->owned, &owner->jobs);
	owner->count++;
	return job;
}

static struct owner *owner_new(struct owner *next)
{
	struct owner *owner = malloc(sizeof *owner);

	OBJECT(owner, struct owner);
	owner->jobs.next = owner->jobs.prev = &owner->jobs;
	owner->count = 0;
	owner->total = 0;
	owner->pick = cheap;
	owner->next = next;
	return owner;
}

void prepare(void)
{
	MEMBER(struct list_head, next);
	MEMBER(struct list_head, prev);
	MEMBER(struct stamp, seconds);
	MEMBER(struct stamp, nanos);
	MEMBER(struct stamp, zone);
	MEMBER(struct job, id);
	MEMBER(struct job, state);
	MEMBER(struct job, flags);
	INNER(struct job, queue, struct list_head);
	INNER(struct job, created, struct stamp);
	INNER(struct job, done, struct stamp);
	INNER(struct job, owned, struct list_head);
	MEMBER(struct job, cost);
	INNER(struct owner, jobs, struct list_head);
	MEMBER(struct owner, count);
	MEMBER(struct owner, total);
	MEMBER(struct owner, pick);
	MEMBER(struct owner, next);
	OBJECT(&queue, struct list_head);
	SCALAR(owners);
	SCALAR(watched);
	SCALAR(sequence);
	for (int n = 0; n < OWNERS; n++)
		owners = owner_new(owners);
	for (int n = 0; n < JOBS; n++) {
		struct owner *owner = owners;

		for (int skip = n % OWNERS; skip; skip--)
			owner = owner->next;
		job_new(owner);
	}
	watched = &owners->total;
}

__attribute__((noinline)) static long sum(const struct list_head *head)
{
	long total = 0;

	for (const struct list_head *at = head->next; at != head; at = at->next) {
		const struct job *job = container_of(at, struct job, owned);

		total += job->cost + job->created.nanos;
	}
	return total;
}

__attribute__((noinline)) static struct job *first(int number)
{
	struct list_head *head = queue.next;
	struct job *job = container_of(head, struct job, queue);

	job->state = (unsigned short)number;
	stamp_set(&job->created, number);
	list_del(&job->queue);
	list_add_tail(&job->queue, &queue);
	return job;
}

void turn(int number)
{
	for (int n = 0; n < JOBS; n++) {
		struct job *job = first(number + n);

		job->flags ^= 4;
		stamp_set(&job->done, job->created.seconds + 5);
		job->cost += job->done.zone;
	}
	for (struct owner *owner = owners; owner; owner = owner->next) {
		owner->total = sum(&owner->jobs);
		for (struct list_head *at = owner->jobs.next; at != &owner->jobs; at = at->next) {
			struct job *job = container_of(at, struct job, owned);

			if (owner->pick(job, number))
				job->id += owner->count;
		}
	}
	*watched += number;
	*(&owners->next->total) += 2;
}
