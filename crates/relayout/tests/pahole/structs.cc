// Structs of C++: bases, templates, bit-fields, alignments, nested and anonymous types.
#include <cstddef>

struct Empty {};

struct Plain {
	int a;
	char b;
};

struct Derived : Plain {
	char c;
};

struct Two : Empty, Plain {
	long own;
};

struct Flags : Derived {
	unsigned first : 3;
	unsigned second : 5;
	static int shared;
	static constexpr int limit = 4;
	unsigned char small : 2;
};

struct alignas(64) Line {
	alignas(64) long hits = 0;
	alignas(32) long misses{1};
	bool full;
};

template <class T, int N = 4> struct Ring {
	T slots[N];
	T *head = nullptr;
	bool full : 1;
	struct Cursor {
		T *at;
		short step;
	} cursor;
	union {
		int number;
		float real;
	};
};

struct Owner {
	Ring<unsigned long> numbers;
	Ring<Plain, 2> plains;
	const volatile char *name;
	Plain &reference;
	void (*call)(int, ...);
	enum Kind { One, Two = 7 } kind;
	wchar_t wide;
	char16_t narrow;
	Owner();
	void run(int);
};

union Number {
	int i;
	double d;
	Number();
};

int Flags::shared;
Owner *owner;
Number *number;
Two two;
Flags flags;
Line line;
size_t sizes() { return sizeof(Owner) + sizeof(Number); }

class Shape {
public:
	Shape();
	int sides;
	char name;

protected:
	long area;
	void grow(long);

private:
	char hidden;

public:
	int seen;
	void show();

private:
	void hide();
};

class Square : public Shape, private Plain {
	long edge;

public:
	long diagonal;
	Square();
};

class Circle : protected Shape {
	long radius;
	struct Inner {
	private:
		int one;
	public:
		char two;
	} inner;
};

Shape *shape;
Square square;
Circle circle;
size_t more_sizes() { return sizeof(Shape) + sizeof(Square) + sizeof(Circle); }
