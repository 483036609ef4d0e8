/* Kinds of members: unions, bit fields, packed structs; kinds of places: statics in functions,
 * thread-local variables, objects on the stack, constants. */
#include <stdlib.h>

#include "truth.h"

struct point {
	int x, y;
};

struct shape {
	unsigned char kind;
	union {
		struct point at;
		struct {
			long radius;
			char label[8];
		};
		double angle;
	};
	struct shape *parent;
};

struct packet {
	unsigned char type;
	unsigned int length;
	unsigned long long stamp;
	unsigned short sum;
} __attribute__((packed));

struct flags {
	unsigned ready : 1;
	unsigned level : 5;
	unsigned owner : 12;
	int delta : 9;
	unsigned long total;
};

struct local {
	long in, out;
	struct point last;
	char scratch[40];
};

struct rule {
	const char *name;
	int minimum, maximum;
};

static const struct rule rules[] = { { "low", 1, 10 }, { "middle", 5, 50 }, { "high", 25, 250 } };
static __thread struct local own;
static __thread unsigned own_turns;
static struct shape *shapes[6];
static struct packet *packets;
static struct flags flags[5];
long checked;

__attribute__((noinline)) static void touch(struct shape *shape, int number)
{
	switch (shape->kind) {
	case 0:
		shape->at.x += number;
		shape->at.y -= number;
		break;
	case 1:
		shape->radius++;
		shape->label[number & 7] = 'r';
		break;
	default:
		shape->angle += 0.5;
	}
	if (shape->parent)
		shape->parent->kind = (unsigned char)(number % 3);
}

__attribute__((noinline)) static unsigned check(struct packet *packet, int number)
{
	packet->length += (unsigned)number;
	packet->stamp ^= packet->length;
	packet->sum = (unsigned short)(packet->sum + packet->type);
	return packet->sum;
}

__attribute__((noinline)) static void raise_level(struct flags *all, int number)
{
	for (int n = 0; n < 5; n++) {
		struct flags *one = all + n;

		one->level = (unsigned)number & 31;
		one->delta += n;
		if (one->ready)
			one->owner++;
		one->ready ^= 1;
		one->total += one->level;
	}
}

__attribute__((noinline)) static long pass(struct local *through, const struct point *by)
{
	through->in += by->x;
	through->last = *by;
	through->scratch[by->y & 31] = 1;
	return through->out;
}

__attribute__((noinline)) static int allowed(int value)
{
	static struct point seen;
	static int calls;

	if (!calls++) {
		OBJECT(&seen, struct point);
		SCALAR(calls);
	}
	seen.x = value;
	for (unsigned n = 0; n < sizeof rules / sizeof rules[0]; n++)
		if (value >= rules[n].minimum && value < rules[n].maximum) {
			seen.y++;
			return rules[n].name[0];
		}
	return 0;
}

void prepare(void)
{
	MEMBER(struct point, x);
	MEMBER(struct point, y);
	MEMBER(struct shape, kind);
	INNER(struct shape, at, struct point);
	MEMBER(struct shape, radius);
	MEMBER(struct shape, label);
	MEMBER(struct shape, angle);
	MEMBER(struct shape, parent);
	MEMBER(struct packet, type);
	MEMBER(struct packet, length);
	MEMBER(struct packet, stamp);
	MEMBER(struct packet, sum);
	BITS(struct flags, ready);
	BITS(struct flags, level);
	BITS(struct flags, owner);
	BITS(struct flags, delta);
	MEMBER(struct flags, total);
	MEMBER(struct local, in);
	MEMBER(struct local, out);
	INNER(struct local, last, struct point);
	MEMBER(struct local, scratch);
	MEMBER(struct rule, name);
	MEMBER(struct rule, minimum);
	MEMBER(struct rule, maximum);
	OBJECTS(rules, 3, struct rule);
	truth_scalar(shapes, sizeof shapes, "shapes");
	SCALAR(packets);
	OBJECTS(flags, 5, struct flags);
	SCALAR(checked);
	for (int n = 0; n < 6; n++) {
		shapes[n] = calloc(1, sizeof **shapes);
		OBJECT(shapes[n], struct shape);
		shapes[n]->kind = (unsigned char)(n % 3);
		shapes[n]->parent = n ? shapes[n - 1] : NULL;
	}
	packets = calloc(7, sizeof *packets);
	OBJECTS(packets, 7, struct packet);
}

void turn(int number)
{
	struct local here = { 0 };
	struct point by = { number, number + 3 };

	OBJECT(&own, struct local);
	SCALAR(own_turns);
	OBJECT(&here, struct local);
	OBJECT(&by, struct point);
	own_turns++;
	for (int n = 0; n < 6; n++)
		touch(shapes[n], number);
	for (int n = 0; n < 7; n++)
		checked += check(&packets[n], number + n);
	raise_level(flags, number);
	own.out += number;
	by.x += (int)pass(&own, &by);
	here.out = own.in;
	checked += pass(&here, &by) + here.last.x;
	checked += allowed(number * 5);
	own.last.y = by.x;
}
