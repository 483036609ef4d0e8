/* A member that a thread reads, beside the member that another thread writes. */
struct counters {
	long hits;
	long spare;
	long misses;
} stats __attribute__((aligned(64)));

long read_hits(void)
{
	return stats.hits;
}

void write_misses(long count)
{
	stats.misses = count;
}

int main(void)
{
	write_misses(1);
	return read_hits();
}
