/* What the C library's functions return and leave in memory; prints it all. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <errno.h>

static unsigned sum(const void *at, size_t n)
{
	const unsigned char *bytes = at;
	unsigned sum = 1;
	while (n--)
		sum = sum * 31 + *bytes++;
	return sum;
}

int main(void)
{
	static char a[1024], b[1024];
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	void *(*volatile move)(void *, const void *, size_t) = memmove;
	void *(*volatile set)(void *, int, size_t) = memset;
	int (*volatile compare)(const void *, const void *, size_t) = memcmp;
	for (int i = 0; i < 1024; i++)
		a[i] = (char)(i * 7 % 251);
	for (size_t n = 0; n < 300; n += 13) {
		copy(b + n % 5, a, n);
		move(b + 7, b, n);
		move(b, b + 9, n);
		set(b + 400 + n % 3, (int)n, n);
		printf("%zu %u %d %d\n", n, sum(b, sizeof b), compare(a, b, n) > 0, compare(a, a, n));
	}
	printf("%ld %ld %d\n", (char *)memchr(a, 70, 1024) - a, (char *)memrchr(a, 70, 1024) - a,
	       memchr(a, 1, 3) == NULL);
	printf("%ld\n", (char *)mempcpy(b, a, 100) - b);
	char text[64] = "", *end;
	const char *volatile word = "Relayout", *volatile other = "rElAyOut!";
	printf("%s %zu %zu\n", strcpy(text, word), strlen(text), strnlen(text, 3));
	printf("%s %s\n", strcat(text, other), strncat(text, "tail", 2));
	end = stpcpy(text, "ab");
	printf("%ld %d %d %d %d\n", end - text, strcmp(word, other) < 0, strcasecmp(word, other) < 0,
	       strncasecmp(word, other, 8), strncmp(word, "Relax", 4));
	printf("%s %s %s %s\n", strchr(word, 'l'), strrchr(word, 'o'), strstr(word, "you"),
	       strchr(word, 'z') ? "z" : "none");
	printf("%u\n", sum(strncpy(text, "xyz", sizeof text), sizeof text));
	char *copies[2] = {strdup(word), strndup(word, 3)};
	printf("%s %s\n", copies[0], copies[1]);
	free(copies[0]);
	free(copies[1]);
	unsigned char *p = malloc(10), *q;
	memset(p, 5, 10);
	p = realloc(p, 5000);
	printf("%u %d\n", sum(p, 10), malloc_usable_size(p) >= 5000);
	p = reallocarray(p, 100, 100);
	printf("%u\n", sum(p, 10));
	errno = 0;
	volatile size_t much = SIZE_MAX / 2;
	printf("%d %d\n", reallocarray(p, much, 3) == NULL, errno == ENOMEM);
	printf("%d\n", realloc(p, much) == NULL && sum(p, 10) != 0);
	free(p);
	p = calloc(30, 30);
	printf("%u\n", sum(p, 900));
	free(p);
	int bad = posix_memalign((void **)&q, 4096, 100);
	printf("%d %d\n", bad, (int)((uintptr_t)q % 4096));
	free(q);
	q = aligned_alloc(256, 512);
	printf("%d\n", (int)((uintptr_t)q % 256));
	free(q);
	q = memalign(64, 10);
	free(q);
	free(NULL);
	q = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	set(q, 9, 10000);
	printf("%u\n", sum(q, 10000));
	printf("%d\n", munmap(q, 10000));
	printf("%d %d\n", mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED, errno);
	for (int i = 0; i < 20000; i++) {
		void *blocks[8];
		for (int n = 0; n < 8; n++)
			blocks[n] = malloc((size_t)(i * 37 % 300 + n));
		for (int n = 0; n < 8; n++)
			free(blocks[(n * 3) % 8]);
	}
	bzero(b, 10);
	explicit_bzero(b + 10, 10);
	printf("%u\n", sum(b, 1024));
	return 0;
}
