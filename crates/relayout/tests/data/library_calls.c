/* Copies, fills and comparisons of a constant size, each in a function of its own that does nothing else. */
#include <pthread.h>
#include <string.h>
#include <strings.h>
#ifdef __cplusplus
#include <algorithm>
#include <cstring>
#endif

struct block {
	char bytes[256];
};

#define KIND(name, statement) \
	__attribute__((noinline)) void kind_##name(struct block *to, const struct block *from) \
	{ \
		(void)from; \
		statement; \
	}
#define IF_SAME(condition) \
	if (condition) \
	same++

static int same;
KIND(copy, memcpy(to, from, 24))
KIND(copy_few, memcpy(to, from, 3))
KIND(copy_register, memcpy(to, from, 8))
KIND(copy_builtin, __builtin_memcpy(to, from, 100))
KIND(copy_whole, memcpy(to, from, sizeof *to))
KIND(move, memmove(to, from, 24))
KIND(move_builtin, __builtin_memmove(to, from, 24))
KIND(fill, memset(to, 1, 24))
KIND(fill_register, memset(to, 0, 8))
KIND(fill_builtin, __builtin_memset(to, 0, sizeof *to))
KIND(zero, bzero(to, 24))
KIND(text, strcpy(to->bytes, "a text that is longer than a register"))
KIND(text_end, stpcpy(to->bytes, "a text"))
KIND(text_padded, strncpy(to->bytes, "a text", 24))
KIND(compare, IF_SAME(memcmp(to, from, 24) == 0))
KIND(compare_builtin, IF_SAME(__builtin_memcmp(to, from, 24) == 0))
KIND(compare_text, IF_SAME(strcmp(to->bytes, "ab") == 0))
KIND(compare_begin, IF_SAME(strncmp(to->bytes, "ab", 2) == 0))
KIND(assign, *to = *from)
#ifdef __cplusplus
KIND(algorithm_copy, std::copy_n(from->bytes, 24, to->bytes))
KIND(algorithm_equal, IF_SAME(std::equal(from->bytes, from->bytes + 24, to->bytes)))
KIND(namespace_copy, std::memcpy(to, from, 24))
#endif

static void (*const kinds[])(struct block *, const struct block *) = {
	kind_copy, kind_copy_few, kind_copy_register, kind_copy_builtin, kind_copy_whole, kind_move,
	kind_move_builtin, kind_fill, kind_fill_register, kind_fill_builtin, kind_zero, kind_text,
	kind_text_end, kind_text_padded, kind_compare, kind_compare_builtin, kind_compare_text,
	kind_compare_begin, kind_assign,
#ifdef __cplusplus
	kind_algorithm_copy, kind_algorithm_equal, kind_namespace_copy,
#endif
};
enum { KINDS = sizeof kinds / sizeof *kinds, ROUNDS = 30 };

static struct block blocks[KINDS] __attribute__((aligned(64)));
static const struct block source = {"ab"};
/* The threads take turns, so that each finds what the other one stored. */
static pthread_barrier_t turn;

static void *use(void *arg)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int n = 0; n < KINDS; n++)
			kinds[n](&blocks[n], &source);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return arg;
}

static void *change(void *arg)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&turn);
		for (int n = 0; n < KINDS; n++)
			blocks[n].bytes[0]++;
		pthread_barrier_wait(&turn);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[2];
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&threads[0], NULL, use, NULL);
	pthread_create(&threads[1], NULL, change, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
