/* Unnamed members of tagged structs and unions, built with -fms-extensions. */
struct counters {
	void *freelist;
	unsigned long count;
} __attribute__((aligned(16)));
struct named {
	int a;
	char z;
	struct {
		int q;
	};
};
union either {
	long left;
	int right;
};
struct holder {
	long head;
	union {
		struct {
			int x;
			struct counters;
		};
		long y;
	};
	struct named;
	union either;
	char tail;
	struct on_the_spot {
		short s;
	};
};
struct holder holder;
union either_of_two {
	struct named;
	long whole;
} either_of_two;
