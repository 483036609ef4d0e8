/* What the tests of `relayout show` print. */
typedef unsigned int number;
enum color { RED, GREEN = 5 };

struct inner {
	char tag;
	number count;
};

union either {
	long whole;
	struct inner parts;
	char bytes[12];
};

struct outer {
	char first;
	struct inner inner;
	unsigned low : 3;
	unsigned high : 7;
	union either either[2];
	struct {
		short x;
		long y;
	};
	const char *name;
	void (*call)(struct outer *, number);
	char last;
};

typedef struct {
	struct outer *next;
	number values[2];
} alias;

struct deep {
	struct outer outer;
};

struct outer *outer;
union either *either;
alias *aliased;
struct deep *deep;
enum color color;
