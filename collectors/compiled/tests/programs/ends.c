/* Ends in the way that its argument names, while another thread works. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long counters[2];
static pthread_barrier_t barrier;

static void *work(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		++*(volatile long *)argument;
	return NULL;
}

static int overflow(volatile char *above)
{
	volatile char frame[4096];
	frame[0] = above ? above[0] : 0;
	return overflow(frame) + frame[0];
}

static void leave(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "_Exit"))
		_Exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "fault"))
		*(volatile int *)16 = 1;
	if (!strcmp(how, "overflow"))
		exit(overflow(NULL));
	if (!strcmp(how, "raise"))
		raise(SIGTERM);
	if (!strcmp(how, "divide")) {
		volatile int zero = 0;
		exit(100 / zero);
	}
	if (!strcmp(how, "execve"))
		execl("/bin/true", "true", (char *)NULL);
	if (!strcmp(how, "execvp")) {
		char *arguments[] = {"true", NULL};
		execvp("true", arguments);
	}
	if (!strcmp(how, "no such program")) {
		execl("/nonexistent/program", "program", (char *)NULL);
		char *arguments[] = {"no-such-program-anywhere", NULL};
		execvp(arguments[0], arguments);
		for (int i = 0; i < 100000; i++)
			counters[1]++;
		exit(0);
	}
	if (!strcmp(how, "children")) {
		int status, sum = 0;
		for (int i = 0; i < 3; i++) {
			pid_t child = i == 2 ? vfork() : fork();
			if (child == 0 && i == 1)
				execl("/bin/true", "true", (char *)NULL);
			if (child == 0 && i == 2)
				_exit(0);
			if (child == 0) {
				for (int n = 0; n < 100000; n++)
					counters[1]++;
				exit(3);
			}
			waitpid(child, &status, 0);
			sum += WEXITSTATUS(status);
		}
		exit(sum == 3 ? 0 : 1);
	}
	if (!strcmp(how, "wait"))
		for (;;)
			counters[1]++;
}

static void *leave_from_thread(void *how)
{
	leave(how);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, work, (void *)&counters[0]);
	pthread_barrier_wait(&barrier);
	printf("counters %p\n", (void *)counters);
	fflush(stdout);
	/* Counted from here on: before, only one thread may have used the line, whose accesses are not counted. */
	long from = counters[0];
	while (counters[0] - from < 12000)
		counters[1]++;
	if (argc > 2 && !strcmp(argv[2], "thread")) {
		pthread_create(&thread, NULL, leave_from_thread, argv[1]);
		pthread_join(thread, NULL);
	}
	if (argc > 2 && !strcmp(argv[2], "return"))
		return 0;
	leave(argv[1]);
	return 2;
}
