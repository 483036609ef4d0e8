/* What the cases have in common: threads in windows of time, and how the kernel spells things. */
#ifndef CASES_COMMON_H
#define CASES_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Names objects for the recorder; does nothing in a program that is not recorded. */
#if defined(__has_include)
#if __has_include("relayout.h")
#include "relayout.h"
#define NAME_OBJECT(at, bytes, type) relayout_object(at, bytes, type)
#endif
#endif
#ifndef NAME_OBJECT
#define NAME_OBJECT(at, bytes, type) print_object(at, bytes, type)
#endif

/* Marks the window and operations for the recorder of a guest (collectors/guest/marker.h), if its header is there. */
#if defined(__has_include)
#if __has_include("marker.h")
#include "marker.h"
#define MARK(name) MARKER(MARKER_##name)
#endif
#endif
#ifndef MARK
#define MARK(name) ((void)0)
#endif

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

/* Between two looks at what another thread will write. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("pause" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("yield" : : : "memory");
#endif
}

/* One thread of a case. */
struct worker {
	unsigned int index;
	/* Done so far, in whole batches. */
	unsigned long operations;
	/* Of what it read or wrote, for the check at the end. */
	uint64_t sum;
};

struct role {
	/* Does so many operations. A follower may do fewer once finished() is true. */
	void (*work)(struct worker *self, unsigned long operations);
	/* Goes on until the others have ended, because they wait for it. */
	bool follower;
};

struct program {
	const char *name;
	/* Access mixes, the default first, ended by NULL; NULL if there is only one. */
	const char *const *mixes;
	/* Fewest and most threads, 0 for any; the number must be a multiple of `threads_multiple` if that is not 0. */
	unsigned int threads_min, threads_max, threads_multiple;
	void (*setup)(unsigned int threads);
	struct role (*role)(unsigned int index);
	/* Whether the results are right; says what is wrong. */
	bool (*check)(const struct worker *workers, unsigned int threads);
	/* What the layout is: offsets of the members that matter. */
	void (*describe)(FILE *out);
};

extern const struct program program;

/* The mix that was asked for, as an index into `mixes`. */
extern unsigned int mix;
/* Turns of idle work after each operation of a thread. */
extern unsigned int idle_work;

/* All threads but followers have ended. */
bool finished(void);

/* Memory for one object as a slab gives it: zero, at the start of a line and of a pair of lines. */
void *slab_alloc(size_t bytes);

/* With --objects, says where an object is. */
void print_object(const void *at, size_t bytes, const char *type);

/* Work that shares nothing. */
static inline void work_apart(void)
{
	for (unsigned int turn = 0; turn < idle_work; turn++)
		__asm__ volatile("" : : "r"(turn));
}

/* Ends an operation. */
static inline void finish_operation(void)
{
	MARK(OPERATION);
	work_apart();
}

/* Says that something is `found` and not as `expected`. */
bool equal(const char *what, uint64_t found, uint64_t expected);

#ifdef LAYOUT_GOOD
#define LAYOUT "good"
#else
#define LAYOUT "bad"
#endif

#endif
