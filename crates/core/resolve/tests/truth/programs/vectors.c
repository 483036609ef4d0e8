/* Loops that compilers make vector code of, over arrays of structs and structs of arrays. */
#include <stdlib.h>

#include "truth.h"

#define BODIES 32
#define SAMPLES 64

struct body {
	float x, y, z, mass;
	float dx, dy, dz;
	int steps;
};

struct columns {
	int count;
	float price[SAMPLES];
	float volume[SAMPLES];
	double sum;
};

struct pixel {
	unsigned char red, green, blue, alpha;
};

struct image {
	unsigned width, height;
	struct pixel pixels[SAMPLES];
};

struct matrix {
	double at[4][4];
};

static struct body *bodies;
static struct columns *columns;
static struct image image;
static struct matrix left, right, product;
static long counts[SAMPLES];

__attribute__((noinline)) static void move(struct body *all, int count, float by)
{
	for (int n = 0; n < count; n++) {
		all[n].x += all[n].dx * by;
		all[n].y += all[n].dy * by;
		all[n].z += all[n].dz * by;
		all[n].steps++;
	}
}

__attribute__((noinline)) static float weight(const struct body *all, int count)
{
	float total = 0;

	for (int n = 0; n < count; n++)
		total += all[n].mass;
	return total;
}

__attribute__((noinline)) static void scale(struct columns *in, float by)
{
	for (int n = 0; n < in->count; n++)
		in->price[n] *= by;
	for (int n = 0; n < in->count; n++)
		in->volume[n] += in->price[n];
	in->sum += in->price[0];
}

__attribute__((noinline)) static void fade(struct image *in)
{
	for (unsigned n = 0; n < SAMPLES; n++) {
		in->pixels[n].red /= 2;
		in->pixels[n].alpha = 255;
	}
	in->width++;
}

__attribute__((noinline)) static void multiply(struct matrix *to, const struct matrix *a,
                                               const struct matrix *b)
{
	for (int row = 0; row < 4; row++)
		for (int column = 0; column < 4; column++) {
			double sum = 0;

			for (int n = 0; n < 4; n++)
				sum += a->at[row][n] * b->at[n][column];
			to->at[row][column] = sum;
		}
}

void prepare(void)
{
	MEMBER(struct body, x);
	MEMBER(struct body, y);
	MEMBER(struct body, z);
	MEMBER(struct body, mass);
	MEMBER(struct body, dx);
	MEMBER(struct body, dy);
	MEMBER(struct body, dz);
	MEMBER(struct body, steps);
	MEMBER(struct columns, count);
	MEMBER(struct columns, price);
	MEMBER(struct columns, volume);
	MEMBER(struct columns, sum);
	MEMBER(struct pixel, red);
	MEMBER(struct pixel, green);
	MEMBER(struct pixel, blue);
	MEMBER(struct pixel, alpha);
	MEMBER(struct image, width);
	MEMBER(struct image, height);
	INNER(struct image, pixels, struct pixel);
	MEMBER(struct matrix, at);
	bodies = calloc(BODIES, sizeof *bodies);
	OBJECTS(bodies, BODIES, struct body);
	columns = calloc(1, sizeof *columns);
	OBJECT(columns, struct columns);
	OBJECT(&image, struct image);
	OBJECT(&left, struct matrix);
	OBJECT(&right, struct matrix);
	OBJECT(&product, struct matrix);
	SCALAR(bodies);
	SCALAR(columns);
	truth_scalar(counts, sizeof counts, "counts");
	columns->count = SAMPLES;
	for (int n = 0; n < BODIES; n++)
		bodies[n].mass = (float)n;
}

void turn(int number)
{
	move(bodies, BODIES, (float)number);
	bodies[number % BODIES].dx += weight(bodies, BODIES);
	scale(columns, 1.5F);
	fade(&image);
	left.at[number % 4][1] = number;
	multiply(&product, &left, &right);
	right = product;
	for (int n = 0; n < SAMPLES; n++)
		counts[n] += number;
}
