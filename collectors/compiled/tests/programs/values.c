/* Stores that change nothing and stores that do, on a line that threads share, amid signals. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

struct shared {
	volatile long same, changing, other, by_handler;
	int exchanged, added;
	volatile short narrow;
	char flag;
	volatile __int128 wide;
};

/* So many that the stores before the line is watched are few. */
enum { ROUNDS = 100000 };

static struct shared shared __attribute__((aligned(64)));
static volatile int disturbing, done;

static void on_alarm(int signal)
{
	(void)signal;
	shared.by_handler++;
	shared.other++;
}

static void *disturb(void *unused)
{
	while (!done) {
		shared.other++;
		disturbing = 1;
	}
	return unused;
}

static void *store(void *unused)
{
	volatile int nothing = 0;
	while (!disturbing)
		;
	for (int i = 0; i < ROUNDS; i++) {
		char none = -1;
		shared.same = 7;
		shared.changing = i + 1;
		shared.narrow = (short)(i + 1);
		shared.wide = 5;
		__atomic_store_n(&shared.exchanged, i + 1, __ATOMIC_RELEASE);
		__atomic_fetch_add(&shared.added, nothing, __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(&shared.flag, &none, 9, 0, 5, 5);
	}
	return unused;
}

static int ends[2];

/* Waits in the kernel after its last store, until the page is gone. */
static void *lose_page(void *page)
{
	char byte;
	for (int i = 0; i < 5000; i++)
		((volatile long *)page)[0]++;
	((volatile long *)page)[1] = 1;
	while (syscall(SYS_read, ends[0], &byte, 1) != 1)
		;
	shared.other++;
	return NULL;
}

static void unmap_amid_stores(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	if (pipe(ends))
		return;
	pthread_create(&thread, NULL, lose_page, page);
	while (!((volatile long *)page)[1])
		((volatile long *)page)[2]++;
	syscall(SYS_munmap, page, 4096);
	syscall(SYS_write, ends[1], "", 1);
	pthread_join(thread, NULL);
}

int main(void)
{
	pthread_t threads[2];
	struct itimerval timer = {{0, 500}, {0, 500}};
	signal(SIGALRM, on_alarm);
	shared.same = 7;
	shared.wide = 5;
	setitimer(ITIMER_REAL, &timer, NULL);
	pthread_create(&threads[0], NULL, disturb, NULL);
	pthread_create(&threads[1], NULL, store, NULL);
	pthread_join(threads[1], NULL);
	done = 1;
	pthread_join(threads[0], NULL);
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	unmap_amid_stores();
	printf("shared %p\nrounds %d\n", (void *)&shared, ROUNDS);
	return 0;
}
