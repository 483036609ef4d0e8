/* What a program says of its own objects: where they are, and what the compiler made of their types.
 * Nothing of it comes from debug information. */
#ifndef TRUTH_H
#define TRUTH_H

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

void truth_member(const char *type, const char *member, size_t offset, size_t bytes,
                  const char *inner, size_t inner_bytes);
void truth_bits(const char *type, const char *member, const void *set, size_t bytes);
void truth_object(const volatile void *start, size_t count, size_t bytes, const char *type);
void truth_scalar(const volatile void *start, size_t bytes, const char *name);

/* The program: what is done once, and what is done in each turn. */
void prepare(void);
void turn(int number);

#ifdef __cplusplus
}
#endif

/* A member that is a number, a pointer, or an array of such. */
#define MEMBER(T, m) truth_member(#T, #m, offsetof(T, m), sizeof(((T *)0)->m), "", 0)
/* A member that is an I or an array of I. */
#define INNER(T, m, I) truth_member(#T, #m, offsetof(T, m), sizeof(((T *)0)->m), #I, sizeof(I))
/* A member of a type that is not described further. */
#define OPAQUE(T, m) truth_member(#T, #m, offsetof(T, m), sizeof(((T *)0)->m), "?", 0)
/* A flexible array of numbers, or of I, of which so many are used. */
#define FLEXIBLE(T, m, count)                                                                      \
	truth_member(#T, #m, offsetof(T, m), (count) * sizeof(((T *)0)->m[0]), "", 0)
/* A bit field: where it is shows when all its bits are set. */
#define BITS(T, m)                                                                                 \
	do {                                                                                       \
		T set_;                                                                            \
		memset((void *)&set_, 0, sizeof set_);                                             \
		set_.m = -1;                                                                       \
		truth_bits(#T, #m, (const void *)&set_, sizeof set_);                              \
	} while (0)
/* A class of which T inherits. */
#define BASE(T, B)                                                                                 \
	truth_member(#T, "", (size_t)((char *)(B *)(T *)4096 - (char *)4096), sizeof(B), #B, sizeof(B))

#define OBJECT(p, T) truth_object(p, 1, sizeof(T), #T)
#define OBJECTS(p, count, T) truth_object(p, count, sizeof(T), #T)
#define SCALAR(name) truth_scalar(&(name), sizeof(name), #name)

#endif
