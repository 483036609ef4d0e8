/* Shapes that layouts come in. layouts.txt holds what pahole 1.24 prints for them:
 *     gcc -g -c layouts.c && pahole -F dwarf layouts.o > layouts.txt
 */
#include <stddef.h>

typedef struct { int counter; } atomic_t;
typedef unsigned char u8;

struct list { struct list *next, *prev; };

struct holes {
	char a;
	long b;
	short c;
	char d;
	struct list list;
	char tail;
};

struct bits {
	int whole;
	unsigned int one:1, two:2, ten:10;
	unsigned char small:3;
	unsigned int more:5;
	_Bool flag:1;
	short last;
};

struct unit_gap {
	unsigned int a:5;
	unsigned int :7;
	unsigned int b:8;
	unsigned int :0;
	unsigned int c:9;
	long d;
};

struct __attribute__((packed)) wire {
	char kind;
	int length;
	long stamp;
	short sum;
};

struct pair { char one; int two; char three; };

struct lines {
	long head[7];
	struct pair pair;
	union {
		struct { int x, y; };
		long both;
		struct { char name[20]; int id; } named;
	};
	long mid[6];
	int hot __attribute__((aligned(64)));
	enum { RED, GREEN = 5, BLUE } colour;
	const char *const *names;
	int (*call)(struct list *, const char *, ...);
	void (*table[4])(void);
	const volatile int state;
	atomic_t count;
	struct pair *pairs[2][3];
	struct { short s; } *behind;
};

union either {
	int number;
	struct { char c; short s; } parts;
	u8 raw[16];
};

struct flexible { size_t length; char data[]; };
struct empty {};
struct ends_empty { int a; struct empty e; };
struct aligned { char c; } __attribute__((aligned(32)));
struct holder { int a; struct aligned inner; };

int counter = 1;
struct lines lines;
struct holes *pointed;
static struct holder hidden;
union either either;
struct flexible *flexible;
struct ends_empty ends_empty;
struct wire wire;
struct bits bits;
struct unit_gap unit_gap;

int step(int by)
{
	static long calls = 3;

	calls += by;
	return hidden.a + (int)calls + counter;
}
