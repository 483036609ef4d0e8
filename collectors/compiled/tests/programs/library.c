/* A library that is loaded late. */
volatile long library_line[8] __attribute__((aligned(64)));

void library_work(int which)
{
	for (int i = 0; i < 20000; i++)
		library_line[which]++;
}
