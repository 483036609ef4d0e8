/* Loads a library by its path and lets two threads work in it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void (*work)(int);

static void *run(void *which)
{
	work((int)(long)which);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	(void)argc;
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		puts(dlerror());
		return 1;
	}
	work = (void (*)(int))dlsym(library, "library_work");
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("line %p\n", dlsym(library, "library_line"));
	return 0;
}
