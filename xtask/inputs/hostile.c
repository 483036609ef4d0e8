/* False sharing of a type whose name, and whose member's name, the recipe replaces by a hostile text. */
#include <pthread.h>
#include <sched.h>

struct a_name_that_no_other_string_holds {
	long a_name_that_no_other_string_holds;
	long other;
};

struct a_name_that_no_other_string_holds hot __attribute__((aligned(64)));
long turn __attribute__((aligned(64)));

static void *count(void *own)
{
	for (int i = 0; i < 400; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % 2 != (own != 0))
			sched_yield();
		if (own)
			hot.a_name_that_no_other_string_holds++;
		else
			hot.other++;
		__atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE);
	}
	return 0;
}

int main(void)
{
	pthread_t first, second;

	pthread_create(&first, 0, count, 0);
	pthread_create(&second, 0, count, &second);
	pthread_join(first, 0);
	pthread_join(second, 0);
	return 0;
}
