/*
 * Runs the threads of a case and reports what each of them got done.
 *
 * Time is cut into windows of 10 ms. A window counts if every thread had its CPU for at least 97% of
 * it: where another program runs in the place of one thread, the others look fast for nothing.
 */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW_NS 10000000ull
#define WINDOWS_MAX 6000u
#define WINDOWS_KEPT_MIN 5u
#define CPU_SHARE_MIN 0.97
#define THREADS_MAX 1024u
#define BATCH 256ul
/* Times the operations that a thread does at most while others are not done. */
#define WAIT_FACTOR 20
/* From the beginning of a recorder's window to that of the first window here. */
#define START_NS 50000ull
/* Times that a word is handed over and back. */
#define HAND_OVERS 4000ul
/* Windows at the beginning that never count: caches, page faults, frequency. */
#define WARM_UP 3u

#define EXIT_WRONG 1
#define EXIT_USAGE 2
#define EXIT_NOISY 3

struct window {
	unsigned long operations;
	uint64_t wall_ns, cpu_ns;
};

struct thread {
	struct worker worker;
	struct role role;
	int cpu;
	bool fifo, done;
	pthread_t handle;
	struct window *windows;
} __attribute__((aligned(256)));

struct options {
	double seconds;
	/* Nanoseconds that handing a word to the next CPU takes at least; 0 for any time. */
	unsigned long apart_ns;
	unsigned long iterations;
	unsigned int threads;
	bool pin, fifo, json, objects;
	/* CPUs of the threads, in their order; NULL for those of this process, by number. */
	const char *cpus;
};

unsigned int mix;
unsigned int idle_work;

static struct options options = { .seconds = 1.0, .pin = true };
static unsigned int windows_wanted;
static uint64_t started_ns;

/* Written before the threads begin; not after. */
static struct {
	unsigned int running;
	bool open;
} start __attribute__((aligned(256)));

/* Written when threads have done their part; not before. */
static struct {
	/* Threads that are no followers; those of them that have ended, and that have done their part. */
	unsigned int leaders, ended, done;
} state __attribute__((aligned(256)));
static pthread_barrier_t ready;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

bool finished(void)
{
	return __atomic_load_n(&state.ended, __ATOMIC_ACQUIRE) == state.leaders;
}

void *slab_alloc(size_t bytes)
{
	void *at = NULL;

	if (posix_memalign(&at, 256, (bytes + 255) / 256 * 256) != 0) {
		fprintf(stderr, "%s: no memory\n", program.name);
		exit(EXIT_NOISY);
	}
	return memset(at, 0, bytes);
}

void print_object(const void *at, size_t bytes, const char *type)
{
	if (options.objects)
		printf("object %p %zu %s\n", at, bytes, type);
}

bool equal(const char *what, uint64_t found, uint64_t expected)
{
	if (found != expected)
		fprintf(stderr, "%s: wrong result: %s is %llu, not %llu\n", program.name, what,
			(unsigned long long)found, (unsigned long long)expected);
	return found == expected;
}

static void pin(struct thread *self)
{
	cpu_set_t set;
	struct sched_param parameters = { .sched_priority = 1 };

	if (self->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(self->cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	self->fifo = options.fifo && sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

static unsigned long handed __attribute__((aligned(256)));

static void *answer(void *argument)
{
	pin(argument);
	for (unsigned long i = 0; i < HAND_OVERS; i++) {
		while (__atomic_load_n(&handed, __ATOMIC_ACQUIRE) != 2 * i + 1)
			;
		__atomic_store_n(&handed, 2 * i + 2, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *hand_over(void *argument)
{
	uint64_t begin;

	pin(argument);
	begin = clock_ns(CLOCK_MONOTONIC);
	for (unsigned long i = 0; i < HAND_OVERS; i++) {
		__atomic_store_n(&handed, 2 * i + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&handed, __ATOMIC_ACQUIRE) != 2 * i + 2)
			;
	}
	return (void *)(uintptr_t)((clock_ns(CLOCK_MONOTONIC) - begin) / (2 * HAND_OVERS));
}

/* A hypervisor may put two CPUs on one core, where threads do not take lines from each other, or on others. */
static bool are_apart(struct thread *threads)
{
	pthread_t one, other;
	void *took_ns = NULL;

	if (options.apart_ns == 0)
		return true;
	handed = 0;
	if (pthread_create(&one, NULL, answer, &threads[1]) != 0)
		return false;
	if (pthread_create(&other, NULL, hand_over, &threads[0]) != 0)
		exit(EXIT_NOISY);
	pthread_join(other, &took_ns);
	pthread_join(one, NULL);
	return (uintptr_t)took_ns >= options.apart_ns;
}

/*
 * A thread that has done its operations goes on until the others have too, within reason: on a busy
 * machine they may begin later, and nothing would be shared.
 */
static bool is_over(struct thread *self, unsigned int window)
{
	if (self->role.follower)
		return finished();
	if (options.iterations == 0)
		return window >= windows_wanted;
	if (self->worker.operations < options.iterations)
		return false;
	if (!self->done)
		__atomic_add_fetch(&state.done, 1, __ATOMIC_ACQ_REL);
	self->done = true;
	return __atomic_load_n(&state.done, __ATOMIC_ACQUIRE) == state.leaders ||
	       self->worker.operations >= WAIT_FACTOR * options.iterations;
}

/* Threads begin at one moment, and the window of a recorder opens when all of them have their CPUs. */
static void begin_together(const struct thread *self)
{
	pthread_barrier_wait(&ready);
	__atomic_add_fetch(&start.running, 1, __ATOMIC_ACQ_REL);
	if (self->worker.index == 0) {
		while (__atomic_load_n(&start.running, __ATOMIC_ACQUIRE) < options.threads)
			cpu_relax();
		MARK(START);
		started_ns = clock_ns(CLOCK_MONOTONIC) + START_NS;
		__atomic_store_n(&start.open, true, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&start.open, __ATOMIC_ACQUIRE))
		cpu_relax();
	while (clock_ns(CLOCK_MONOTONIC) < started_ns)
		;
}

static void *run(void *argument)
{
	struct thread *self = argument;
	unsigned int window = 0;
	uint64_t wall, cpu;

	pin(self);
	begin_together(self);
	wall = started_ns;
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (!is_over(self, window)) {
		uint64_t now, now_cpu;
		unsigned int now_window;

		self->role.work(&self->worker, BATCH);
		now = clock_ns(CLOCK_MONOTONIC);
		now_window = (unsigned int)((now - started_ns) / WINDOW_NS);
		if (window < windows_wanted)
			self->windows[window].operations += BATCH;
		if (now_window == window)
			continue;
		now_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		if (window < windows_wanted) {
			self->windows[window].wall_ns = now - wall;
			self->windows[window].cpu_ns = now_cpu - cpu;
		}
		window = now_window;
		wall = now;
		cpu = now_cpu;
		/* Two programs with real-time priority would else wait for each other for ever. */
		if (self->fifo)
			sched_yield();
	}
	if (!self->role.follower)
		__atomic_add_fetch(&state.ended, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static bool ran(const struct thread *threads, unsigned int window)
{
	for (unsigned int i = 0; i < options.threads; i++) {
		const struct window *it = &threads[i].windows[window];

		if (it->operations == 0 || it->wall_ns > 2 * WINDOW_NS ||
		    (double)it->cpu_ns < CPU_SHARE_MIN * (double)it->wall_ns)
			return false;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Million operations per second: the median of the windows that count. */
static double throughput(const struct thread *self, const bool *kept, double *scratch)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < windows_wanted; i++)
		if (kept[i])
			scratch[count++] = 1e3 * (double)self->windows[i].operations /
					   (double)self->windows[i].wall_ns;
	qsort(scratch, count, sizeof(*scratch), compare);
	return count % 2 ? scratch[count / 2] : (scratch[count / 2 - 1] + scratch[count / 2]) / 2;
}

/* Threads are A to Z, and after these 26, 27, ... */
static void report_thread(unsigned int index, double mops)
{
	char name[16] = { (char)('A' + index) };

	if (index > 'Z' - 'A')
		snprintf(name, sizeof(name), "%u", index);
	if (options.json)
		printf("%s{\"name\": \"%s\", \"mops\": %.4f}", index ? ", " : "", name, mops);
	else
		printf("thread %s: %.4f Mops/s\n", name, mops);
}

static int report(struct thread *threads)
{
	bool *kept = calloc(windows_wanted, sizeof(*kept));
	double *scratch = calloc(windows_wanted, sizeof(*scratch));
	unsigned int count = 0, taken = windows_wanted - WARM_UP;
	const char *mix_name = program.mixes ? program.mixes[mix] : "";
	double sum = 0;

	for (unsigned int i = WARM_UP; i < windows_wanted; i++)
		count += kept[i] = ran(threads, i);
	if (count < WINDOWS_KEPT_MIN) {
		fprintf(stderr,
			"%s: only %u of %u windows count: the machine did not run all threads all the "
			"time; try --fifo, or fewer threads\n",
			program.name, count, taken);
		return EXIT_NOISY;
	}
	if (options.json)
		printf("{\"case\": \"%s\", \"layout\": \"" LAYOUT "\", \"mix\": \"%s\", "
		       "\"windows\": %u, \"kept\": %u, \"fifo\": %s, \"threads\": [",
		       program.name, mix_name, taken, count, threads[0].fifo ? "true" : "false");
	else
		printf("%s, %s layout%s%s, %u of %u windows of 10 ms count%s\n", program.name, LAYOUT,
		       *mix_name ? ", " : "", mix_name, count, taken,
		       threads[0].fifo ? ", real-time priority" : "");
	for (unsigned int i = 0; i < options.threads; i++) {
		double mops = throughput(&threads[i], kept, scratch);

		sum += mops;
		report_thread(i, mops);
	}
	if (options.json)
		printf("], \"mops\": %.4f}\n", sum);
	free(kept);
	free(scratch);
	return 0;
}

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: %s [OPTIONS]\n\n"
		"  --seconds S      run for S seconds, and say what each thread did [1]\n"
		"  --iterations N   run until each thread has done N operations, and only check results\n"
		"  --threads N      threads [%u]\n"
		"  --work N         turns of work of its own after each operation of a thread [0]\n",
		program.name, program.threads_min);
	if (program.mixes) {
		fprintf(out, "  --mix NAME       who accesses what:");
		for (unsigned int i = 0; program.mixes[i]; i++)
			fprintf(out, " %s%s", program.mixes[i], i ? "" : " (default)");
		fprintf(out, "\n");
	}
	fprintf(out, "  --fifo           real-time priority, if permitted\n"
		     "  --cpus LIST      the CPUs of the threads, in their order: 0,2,4\n"
		     "  --no-pin         let the system choose the CPUs\n"
		     "  --apart NS       count only where handing a word to the next CPU takes so long\n"
		     "  --json           print JSON\n"
		     "  --objects        print where the objects are that threads share\n"
		     "  --layout         print the offsets of the members that matter, and end\n");
}

static int wrong(const char *option, const char *value)
{
	fprintf(stderr, "%s: --%s %s: not possible; see --help\n", program.name, option, value);
	return EXIT_USAGE;
}

static bool whole(const char *text, unsigned long max, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && *number <= max;
}

static bool find_mix(const char *name)
{
	for (mix = 0; program.mixes && program.mixes[mix]; mix++)
		if (strcmp(program.mixes[mix], name) == 0)
			return true;
	return false;
}

/* 0 to go on, else one more than the exit code. */
static int parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seconds", 1, NULL, 's' },  { "iterations", 1, NULL, 'i' }, { "threads", 1, NULL, 't' },
		{ "work", 1, NULL, 'w' },     { "mix", 1, NULL, 'm' },	      { "fifo", 0, NULL, 'f' },
		{ "no-pin", 0, NULL, 'n' },   { "json", 0, NULL, 'j' },	      { "layout", 0, NULL, 'l' },
		{ "objects", 0, NULL, 'o' },  { "apart", 1, NULL, 'a' },      { "cpus", 1, NULL, 'c' },
		{ "help", 0, NULL, 'h' },	      { NULL, 0, NULL, 0 },
	};
	unsigned long number;
	int option;

	options.threads = program.threads_min;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 's': {
			char *end;

			options.seconds = strtod(optarg, &end);
			if (*optarg == '\0' || *end != '\0' || !(options.seconds >= 0.1) ||
			    options.seconds * 1e9 / WINDOW_NS > WINDOWS_MAX)
				return 1 + wrong("seconds", optarg);
			break;
		}
		case 'i':
			if (!whole(optarg, 1ul << 40, &options.iterations) || options.iterations == 0)
				return 1 + wrong("iterations", optarg);
			break;
		case 't':
			if (!whole(optarg, THREADS_MAX, &number) || number < program.threads_min ||
			    (program.threads_max && number > program.threads_max) ||
			    (program.threads_multiple && number % program.threads_multiple))
				return 1 + wrong("threads", optarg);
			options.threads = (unsigned int)number;
			break;
		case 'w':
			if (!whole(optarg, 1000000, &number))
				return 1 + wrong("work", optarg);
			idle_work = (unsigned int)number;
			break;
		case 'm':
			if (!find_mix(optarg))
				return 1 + wrong("mix", optarg);
			break;
		case 'c':
			options.cpus = optarg;
			break;
		case 'f':
			options.fifo = true;
			break;
		case 'n':
			options.pin = false;
			break;
		case 'j':
			options.json = true;
			break;
		case 'a':
			if (!whole(optarg, 1000000, &options.apart_ns))
				return 1 + wrong("apart", optarg);
			break;
		case 'o':
			options.objects = true;
			break;
		case 'l':
			program.describe(stdout);
			return 1;
		case 'h':
			usage(stdout);
			return 1;
		default:
			usage(stderr);
			return 1 + EXIT_USAGE;
		}
	}
	if (optind < argc)
		return 1 + wrong("help", argv[optind]);
	return 0;
}

/* The CPUs of --cpus, one for each thread. */
static bool take_cpus(struct thread *threads, const cpu_set_t *allowed)
{
	const char *at = options.cpus;

	for (unsigned int i = 0; i < options.threads; i++) {
		char *end;
		unsigned long cpu = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : CPU_SETSIZE;

		if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, allowed) || (*end != ',' && *end != '\0'))
			return false;
		threads[i].cpu = (int)cpu;
		at = *end == ',' ? end + 1 : end;
	}
	return *at == '\0';
}

/* Each thread gets its CPU of --cpus, or the next one that this process may use. */
static bool choose_cpus(struct thread *threads)
{
	cpu_set_t allowed;
	int cpu = -1, known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;

	/* Threads that wait for each other on one CPU would hold it up for good. */
	if (!known || (unsigned int)CPU_COUNT(&allowed) < options.threads)
		options.fifo = false;
	if (options.cpus)
		return known && take_cpus(threads, &allowed);
	for (unsigned int i = 0; i < options.threads; i++) {
		threads[i].cpu = -1;
		if (!known || !options.pin)
			continue;
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &allowed));
		threads[i].cpu = cpu;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct worker *results;
	struct thread *threads;
	int ended = parse(argc, argv);

	if (ended)
		return ended - 1;
	windows_wanted = WARM_UP + (unsigned int)(options.seconds * 1e9 / WINDOW_NS);
	threads = slab_alloc(options.threads * sizeof(*threads));
	results = calloc(options.threads, sizeof(*results));
	program.setup(options.threads);
	if (!choose_cpus(threads))
		return wrong("cpus", options.cpus);
	if (!are_apart(threads)) {
		fprintf(stderr, "%s: CPUs are nearer than --apart says\n", program.name);
		return EXIT_NOISY;
	}
	pthread_barrier_init(&ready, NULL, options.threads);
	for (unsigned int i = 0; i < options.threads; i++) {
		threads[i].worker.index = i;
		threads[i].role = program.role(i);
		threads[i].windows = slab_alloc((windows_wanted + 1) * sizeof(struct window));
		state.leaders += !threads[i].role.follower;
	}
	for (unsigned int i = 0; i < options.threads; i++) {
		int error = pthread_create(&threads[i].handle, NULL, run, &threads[i]);

		if (error) {
			fprintf(stderr, "%s: cannot start a thread: %s\n", program.name, strerror(error));
			return EXIT_NOISY;
		}
	}
	for (unsigned int i = 0; i < options.threads; i++) {
		pthread_join(threads[i].handle, NULL);
		results[i] = threads[i].worker;
	}
	MARK(STOP);
	if (!program.check(results, options.threads))
		return EXIT_WRONG;
	if (!are_apart(threads)) {
		fprintf(stderr, "%s: CPUs became nearer than --apart says\n", program.name);
		return EXIT_NOISY;
	}
	if (options.iterations == 0)
		return report(threads);
	printf("%s, %s layout: results are right\n", program.name, LAYOUT);
	return 0;
}
