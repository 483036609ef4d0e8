/* Processes: the first argument says which are made; the threads of each that works count in one
 * struct, side by side. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20000
#include "pair_counts.h"

extern char **environ;

static void *idle(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static int wait_for(pid_t child)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child)
        return 98;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static int spawned(const char *program, char *argument)
{
    char *arguments[] = {(char *)program, argument, NULL};
    pid_t child;

    return posix_spawn(&child, program, NULL, NULL, arguments, environ) ? 97 : wait_for(child);
}

static int forked(const char *how, const char *self)
{
    pid_t child = fork();

    if (child == 0 && !strcmp(how, "exec"))
        execl(self, self, "work", (char *)NULL);
    if (child == 0 && !strcmp(how, "plain"))
        execl("/bin/true", "true", (char *)NULL);
    if (child == 0 && !strcmp(how, "signal")) {
        count_twice();
        raise(SIGTERM);
    }
    if (child == 0 && !strcmp(how, "kill")) {
        count_twice();
        kill(getpid(), SIGKILL);
    }
    if (child == 0)
        exit(count_twice());
    return wait_for(child);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "work";
    pthread_t thread;

    heap = calloc(1, sizeof *heap);
    if (!heap)
        return 96;
    if (!strcmp(how, "daemon")) {
        if (daemon(1, 1))
            return 95;
        /* As daemons do. */
        for (int file = 3; file < 2000; file++)
            close(file);
        return count_twice();
    }
    if (!strcmp(how, "threads")) {
        if (pthread_create(&thread, NULL, idle, NULL) || count_twice())
            return 94;
        return forked("work", argv[0]);
    }
    if (!strcmp(how, "spawn"))
        return spawned(argv[0], "work");
    if (!strcmp(how, "vfork")) {
        pid_t child = vfork();
        if (child == 0) {
            execl(argv[0], argv[0], "work", (char *)NULL);
            _exit(93);
        }
        return wait_for(child);
    }
    if (!strcmp(how, "many")) {
        int at_once = argc > 3 ? atoi(argv[3]) : 1;
        for (int left = atoi(argv[2]), running = 0; left > 0 || running > 0;) {
            if (left > 0 && running < at_once) {
                pid_t child = fork();
                if (child == 0) {
                    pair.left += left;
                    _exit(0);
                }
                left--;
                running++;
            } else {
                running--;
                if (wait(NULL) < 0)
                    return 92;
            }
        }
        return 0;
    }
    if (!strcmp(how, "shared")) {
        struct pair *both = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (both == MAP_FAILED)
            return 91;
        heap = both;
        return forked("work", argv[0]) || count_twice();
    }
    if (!strcmp(how, "outlive")) {
        if (fork() == 0) {
            setsid();
            count_twice();
            write(1, "daemon is up\n", 13);
            for (;;)
                pause();
        }
        return 0;
    }
    if (!strcmp(how, "work"))
        return count_twice();
    return forked(how, argv[0]) || (!strcmp(how, "plain") && count_twice());
}
