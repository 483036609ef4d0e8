#include <pthread.h>
#include <stdio.h>
struct { pthread_mutex_t m; long n; long v[8][8]; } s = { PTHREAD_MUTEX_INITIALIZER };
static void *run(void *x) { long t = (long)x; for (int i = 0; i < 1500000; i++) { s.v[t][i & 7] += i; if (i % 16 == 0) { pthread_mutex_lock(&s.m); s.n++; pthread_mutex_unlock(&s.m); } } return 0; }
int main(void) { pthread_t t[2]; for (long k=0;k<2;k++) pthread_create(&t[k],0,run,(void*)k); for (int k=0;k<2;k++) pthread_join(t[k],0); printf("%ld\n", s.n); return 0; }
