// Compiled by the fuzz targets: types, variables and code of every kind that is decoded.
typedef unsigned long word;

enum colour { RED, GREEN = -2, BLUE = 1 << 20 };

union either {
	int number;
	char text[12];
};

struct node {
	struct node *next, **back;
	word key;
};

struct everything {
	char first;
	int low : 3;
	int high : 7;
	union {
		short small;
		double large;
	};
	struct {
		int inner;
		struct node nodes[2];
	} named;
	enum colour colour;
	const volatile union either *either;
	int (*call)(struct node *, word);
	word aligned __attribute__((aligned(64)));
	char tail[];
};

struct everything *all[4];
struct node head = { &head, 0, 7 };

word find(struct node *from, word key)
{
	for (struct node *at = from; at; at = at->next) {
		if (at->key == key)
			return at->key++;
		*at->back = at;
	}
	return 0;
}

void each(unsigned n, word key)
{
	struct everything *one = all[n & 3];
	one->named.nodes[n & 1].key += key;
	one->low = key;
	__atomic_add_fetch(&head.key, 1, __ATOMIC_SEQ_CST);
	__builtin_memcpy(one->tail, one, 200);
	one->call(&one->named.nodes[0], find(&head, one->aligned));
}
