/*
 * relayout.h: what a program can tell `relayout record run` about itself.
 *
 * The compiler shows every access and the runtime every malloc, but a program that takes its objects
 * from pools, arenas or mapped buffers has to say where they are, or a report can only name the
 * address:
 *
 *     struct conn *c = pool_get(&pool);
 *     relayout_object(c, sizeof *c, "struct conn");
 *     ...
 *     relayout_forget(c);
 *     pool_put(&pool, c);
 *
 * All calls do nothing, and cost a load and a branch, in a program that is not linked with the runtime;
 * in one that is but is not being recorded they cost a call. The header alone is enough to build:
 * the runtime's functions are weak. C89 or later, or C++98 or later, gcc or clang.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef RELAYOUT_H
#define RELAYOUT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RELAYOUT_WEAK __attribute__((weak))
#define RELAYOUT_INLINE static __inline__ __attribute__((always_inline, unused))

RELAYOUT_WEAK void relayout_rt_object(const volatile void *start, size_t bytes, const char *type);
RELAYOUT_WEAK void relayout_rt_array(const volatile void *start, size_t elements,
                                     size_t element_bytes, const char *type);
RELAYOUT_WEAK void relayout_rt_forget(const volatile void *start);
RELAYOUT_WEAK void relayout_rt_operation(void);
RELAYOUT_WEAK void relayout_rt_start(void);
RELAYOUT_WEAK void relayout_rt_stop(void);

/* From here on, `bytes` bytes at `start` are an object of the type `type`, as it is called in the
 * source ("struct conn", "ns::Conn"). A second call for the same address replaces the first. */
RELAYOUT_INLINE void relayout_object(const volatile void *start, size_t bytes, const char *type)
{
	if (relayout_rt_object)
		relayout_rt_object(start, bytes, type);
}

/* The same for an array: `elements` elements of `element_bytes` bytes, each of the type `type`. */
RELAYOUT_INLINE void relayout_array(const volatile void *start, size_t elements,
                                    size_t element_bytes, const char *type)
{
	if (relayout_rt_array)
		relayout_rt_array(start, elements, element_bytes, type);
}

/* The object at `start` is no more; to be called before its memory is used for something else. */
RELAYOUT_INLINE void relayout_forget(const volatile void *start)
{
	if (relayout_rt_forget)
		relayout_rt_forget(start);
}

/* The program finished one operation (a request, an iteration). Reports then give costs per
 * operation. */
RELAYOUT_INLINE void relayout_operation(void)
{
	if (relayout_rt_operation)
		relayout_rt_operation();
}

/* What is worth recording begins here, for all threads. If the program, or a library that it loads at
 * its start, calls this anywhere, nothing is recorded before the first call. */
RELAYOUT_INLINE void relayout_start(void)
{
	if (relayout_rt_start)
		relayout_rt_start();
}

/* ... and ends here. It can begin again. */
RELAYOUT_INLINE void relayout_stop(void)
{
	if (relayout_rt_stop)
		relayout_rt_stop();
}

#ifdef __cplusplus
}
#endif

#endif
