/* Uses of processes, threads, signals and memory, each named by the first argument. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile long line[8] __attribute__((aligned(64)));
static _Atomic long total;
static volatile int done;

static void *work(void *argument)
{
	while (!done) {
		++*(volatile long *)argument;
		total++;
	}
	return NULL;
}

static void print_end(const char *name, pid_t child)
{
	int status = -1;
	pid_t ended = waitpid(child, &status, 0);
	printf("%s: %d, exit %d, signal %d\n", name, ended == child,
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	fflush(stdout);
}

static int run_forks(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (child == 0) {
			char *memory = malloc(1000);
			for (int n = 0; n < 20000; n++)
				line[2]++;
			memset(memory, i, 1000);
			free(memory);
			printf("child %d: %ld\n", i, line[2]);
			if (i % 5 == 4)
				abort();
			exit(i);
		}
		print_end("fork", child);
	}
	for (int i = 0; i < 20; i++) {
		pid_t child = vfork();
		if (child == 0 && i % 2)
			_exit(i);
		if (child == 0) {
			execl("/bin/sh", "sh", "-c", "echo from a shell; exit 7", (char *)NULL);
			_exit(1);
		}
		print_end("vfork", child);
	}
	return 4;
}

static int run_spawns(const char *program)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = 0;
		char *shell[] = {"sh", "-c", i % 2 ? "echo spawned" : "kill -9 $$", NULL};
		char *own[] = {(char *)program, "child", NULL};
		int failed = i % 3 ? posix_spawnp(&child, "sh", NULL, NULL, shell, environ)
				   : posix_spawn(&child, program, NULL, NULL, own, environ);
		print_end(failed ? "failed" : "spawn", child);
	}
	pid_t child = 0;
	char *none[] = {"none", NULL};
	printf("%d\n", posix_spawn(&child, "/nonexistent/program", NULL, NULL, none, environ) == ENOENT);
	printf("system: %d\n", WEXITSTATUS(system("exit 9")));
	char text[64] = "";
	FILE *pipe = popen("echo by popen", "r");
	printf("%s", pipe && fgets(text, sizeof text, pipe) ? text : "no pipe\n");
	printf("pclose: %d\n", pipe ? pclose(pipe) : -1);
	return 5;
}

static int run_daemon(void)
{
	int ends[2];
	char text[64] = "";
	if (pipe(ends))
		return 1;
	pid_t child = fork();
	if (child == 0) {
		if (daemon(1, 1))
			_exit(1);
		for (int n = 0; n < 20000; n++)
			line[2]++;
		int length = snprintf(text, sizeof text, "the daemon counts %ld\n", line[2]);
		_exit(write(ends[1], text, length) != length);
	}
	close(ends[1]);
	print_end("daemon", child);
	while (read(ends[0], text, sizeof text) > 0)
		printf("%s", text);
	return 6;
}

static void *load(void *number)
{
	const char *names[] = {"libm.so.6", "libresolv.so.2", "librt.so.1", "libanl.so.1", "libutil.so.1"};
	long loaded = 0;
	for (int i = 0; i < 50; i++) {
		void *library = dlopen(names[(i + (long)number) % 5], RTLD_NOW);
		loaded += library && !dlsym(library, "no such symbol") && dlerror();
		if (library && i % 3)
			dlclose(library);
	}
	return (void *)loaded;
}

static void *add_one(void *argument)
{
	total++;
	((volatile long *)argument)[1]++;
	return NULL;
}

static int run_threads(int rounds, int at_once, void *(*run)(void *))
{
	pthread_t threads[1000];
	pthread_attr_t small;
	long sum = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (int round = 0; round < rounds; round++) {
		for (long i = 0; i < at_once; i++)
			if (pthread_create(&threads[i], &small, run, run == load ? (void *)i : (void *)line))
				return 1;
		for (int i = 0; i < at_once; i++) {
			void *result;
			pthread_join(threads[i], &result);
			sum += (long)result;
		}
	}
	printf("total %ld, sum %ld\n", run == load ? 0 : total, sum);
	return 8;
}

static pthread_barrier_t barrier;

static void *meet(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++)
		add_one(argument);
	pthread_barrier_wait(&barrier);
	return (void *)1;
}

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void jump(int signal)
{
	jumps++;
	line[3]++;
	siglongjmp(back, signal);
}

static void fault(int kind)
{
	void *volatile bad = (void *)64;
	static char room[64];
	if (kind == 0)
		*(volatile long *)bad = 1;
	if (kind == 1)
		memcpy(bad, room, sizeof room);
	if (kind == 2)
		line[4] += memcmp(bad, room, sizeof room);
	if (kind == 3)
		line[4] += strlen(bad);
	if (kind == 4)
		__atomic_fetch_add((long *)bad, 1, __ATOMIC_SEQ_CST);
	if (kind == 5)
		raise(SIGUSR1);
	if (kind == 6) {
		volatile int zero = 0;
		line[4] = 100 / zero;
	}
	if (kind == 7)
		memset(bad, 1, sizeof room);
}

static int run_jumps(void)
{
	int caught[NSIG] = {0};
	struct sigaction action = {.sa_handler = jump};
	int signals[] = {SIGSEGV, SIGUSR1, SIGFPE, SIGALRM};
	for (int i = 0; i < 4; i++)
		sigaction(signals[i], &action, NULL);
	for (volatile int i = 0; i < 800; i++) {
		int signal = sigsetjmp(back, 1);
		caught[signal]++;
		if (signal == 0)
			fault(i % 8);
	}
	printf("%d faults, %d raised, %d divided, %d jumps\n", caught[SIGSEGV], caught[SIGUSR1],
	       caught[SIGFPE], (int)jumps);
	/* The timer interrupts accesses, and the runtime. */
	jumps = 0;
	struct itimerval timer = {{0, 300}, {0, 300}};
	sigsetjmp(back, 1);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (jumps < 300) {
		line[3]++;
		total++;
		memcpy((void *)&line[5], (void *)&line[6], 8);
	}
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%d jumps\n", jumps >= 300);
	return 9;
}

static void *touch_pages(void *memory)
{
	for (size_t at = 0; at < (size_t)8 << 30; at += (size_t)4 << 20)
		__atomic_fetch_add((long *)((char *)memory + at), 1, __ATOMIC_RELAXED);
	return NULL;
}

static int run_maps(void)
{
	for (int round = 0; round < 3; round++) {
		char *memory = mmap(NULL, (size_t)8 << 30, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		pthread_t threads[3];
		long sum = 0;
		if (memory == MAP_FAILED)
			return 1;
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, touch_pages, memory);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		for (size_t at = 0; at < (size_t)8 << 30; at += (size_t)4 << 20)
			sum += *(long *)(memory + at);
		printf("sum %ld, unmapped %d\n", sum, munmap(memory, (size_t)8 << 30));
	}
	return 10;
}

/*
 * Reserves address space as allocators do, changes parts of it and gives it back, again and again. It gives back
 * only what it still has: another thread's map may lie in what it gave back before.
 */
static int run_reserves(void)
{
	const size_t all = (size_t)32 << 40, part = (size_t)1 << 40;
	long sum = 0;
	for (int round = 0; round < 200; round++) {
		char *memory = mmap(NULL, all, round % 2 ? PROT_NONE : PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return 1;
		for (size_t at = 0; at < all; at += 8 * part) {
			char *fixed = mmap(memory + at, part, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
			if (fixed != memory + at)
				return 1;
			fixed[0]++;
			fixed[part - 1]++;
			sum += fixed[0] + fixed[part / 2] + fixed[part - 1];
			sum += madvise(fixed, part, MADV_DONTNEED) + fixed[0];
		}
		munmap(memory + part, all / 2);
		if (mremap(memory, part, part / 2, 0) != memory)
			return 1;
		munmap(memory, part / 2);
		sum += munmap(memory + part + all / 2, all / 2 - part);
	}
	printf("sum %ld\n", sum);
	return 12;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t other;
	if (!strcmp(how, "child")) {
		printf("a child with %d arguments\n", argc);
		return 11;
	}
	if (!strcmp(how, "threads"))
		return run_threads(count / 50, 50, add_one);
	if (!strcmp(how, "alive")) {
		pthread_barrier_init(&barrier, NULL, count);
		return run_threads(1, count, meet);
	}
	if (!strcmp(how, "jumps"))
		return run_jumps();
	pthread_create(&other, NULL, work, (void *)&line[1]);
	int code = !strcmp(how, "forks")    ? run_forks()
		   : !strcmp(how, "spawns") ? run_spawns(argv[0])
		   : !strcmp(how, "daemon") ? run_daemon()
		   : !strcmp(how, "loads")  ? run_threads(3, 8, load)
		   : !strcmp(how, "maps")   ? run_maps()
		   : !strcmp(how, "reserves") ? run_reserves()
					    : 2;
	done = 1;
	pthread_join(other, NULL);
	return code;
}
