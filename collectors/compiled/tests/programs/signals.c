/* A storm of signals whose handlers touch what the threads fight over; one leaves by siglongjmp. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile long line[8] __attribute__((aligned(64)));
static volatile sig_atomic_t handled, jumped, done;
static _Atomic long total;
static __thread sigjmp_buf back;
static __thread volatile int armed;

static void on_alarm(int signal)
{
	(void)signal;
	line[2]++;
	total++;
	handled++;
	if (armed && handled % 3 == 0) {
		armed = 0;
		jumped++;
		siglongjmp(back, 1);
	}
}

static void *work(void *argument)
{
	volatile long *own = argument;
	while (!done) {
		sigsetjmp(back, 1);
		armed = 1;
		for (int i = 0; i < 1000; i++) {
			++*own;
			line[2]++;
			total++;
		}
		armed = 0;
	}
	return NULL;
}

int main(void)
{
	struct sigaction action, seen, before;
	memset(&action, 0, sizeof action);
	sigaction(SIGALRM, NULL, &before);
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGALRM, NULL, &seen);
	int ok = seen.sa_handler == on_alarm && before.sa_handler == SIG_DFL &&
		 (seen.sa_flags & SA_SIGINFO) == 0 && signal(SIGUSR1, SIG_IGN) == SIG_DFL &&
		 signal(SIGUSR1, SIG_DFL) == SIG_IGN && signal(SIGUSR1, on_alarm) == SIG_DFL &&
		 signal(SIGUSR1, SIG_DFL) == on_alarm;
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)&line[i]);
	/* Linux gives a process's signal to its first thread while that one takes it: to the others, then. */
	sigset_t alarm;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	struct itimerval timer = {{0, 200}, {0, 200}};
	setitimer(ITIMER_REAL, &timer, NULL);
	while (handled < 1500 || jumped < 100)
		line[3]++;
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	done = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("line %p\nok %d\n", (void *)line, ok);
	return 0;
}
