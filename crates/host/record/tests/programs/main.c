#include "threads.c"

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "two";
    if (!strcmp(mode, "two"))
        two_threads();
    else if (!strcmp(mode, "come-and-go"))
        come_and_go();
    else if (!strcmp(mode, "crowd"))
        crowd();
    else if (!strcmp(mode, "fork"))
        fork_child();
    else if (!strcmp(mode, "close-all"))
        close_all();
    else if (!strcmp(mode, "signals"))
        signals();
    else if (!strcmp(mode, "exec")) {
        two_for_ever();
        execlp("no-such-program", "no-such-program", (char *)0);
        execlp("true", "true", (char *)0);
    } else if (!strcmp(mode, "exit-group")) {
        two_for_ever();
        pthread_t thread;
        start(&thread, count_and_exit, 0);
        pause();
    } else if (!strcmp(mode, "_exit")) {
        two_for_ever();
        _exit(4);
    } else if (!strcmp(mode, "crash")) {
        two_for_ever();
        *(volatile int *)8 = 1;
    } else if (!strcmp(mode, "abort")) {
        two_for_ever();
        abort();
    } else if (!strcmp(mode, "term")) {
        two_for_ever();
        raise(SIGTERM);
    } else if (!strcmp(mode, "kill")) {
        two_for_ever();
        usleep(1200000);
        raise(SIGKILL);
    } else
        return 2;
    return 0;
}
