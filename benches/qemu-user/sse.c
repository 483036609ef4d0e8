#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define N 4096
static float a[2][N], b[2][N], c[2][N];
static void *run(void *x) { long t = (long)x; for (int r = 0; r < 40000; r++) for (int i = 0; i < N; i++) c[t][i] = c[t][i] * 0.5f + a[t][i] * b[t][i]; return 0; }
int main(void) { pthread_t t[2]; for (int k=0;k<2;k++) for (int i=0;i<N;i++) a[k][i]=i, b[k][i]=k+1;
 for (long k=0;k<2;k++) pthread_create(&t[k],0,run,(void*)k); for (int k=0;k<2;k++) pthread_join(t[k],0); printf("%f %f\n", c[0][5], c[1][7]); return 0; }
