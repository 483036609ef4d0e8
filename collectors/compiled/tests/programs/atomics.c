/* Every atomic operation on every width with awkward operands; prints all results. */
#include <stdint.h>
#include <stdio.h>

typedef unsigned __int128 u128;

static uint64_t state = 88172645463325252ull;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static u128 operand(int n)
{
	u128 wide = (u128)next() << 64 | next();
	switch (n % 4) {
	case 0:
		return wide;
	case 1:
		return ~(u128)0;
	case 2:
		return 0;
	default:
		return (u128)1 << (next() % 128);
	}
}

static void show(const char *what, u128 result, u128 now)
{
	printf("%s %016lx%016lx %016lx%016lx\n", what, (uint64_t)(result >> 64), (uint64_t)result,
	       (uint64_t)(now >> 64), (uint64_t)now);
}

#define OPERATIONS(TYPE)                                                                         \
	static void test_##TYPE(void)                                                            \
	{                                                                                        \
		static TYPE cell __attribute__((aligned(16)));                                   \
		for (int i = 0; i < 64; i++) {                                                   \
			TYPE a = (TYPE)operand(i), b = (TYPE)operand(i / 4), expected;           \
			__atomic_store_n(&cell, a, __ATOMIC_SEQ_CST);                            \
			show(#TYPE " load", __atomic_load_n(&cell, __ATOMIC_ACQUIRE), cell);     \
			show("xchg", __atomic_exchange_n(&cell, b, __ATOMIC_SEQ_CST), cell);     \
			show("add", __atomic_fetch_add(&cell, a, __ATOMIC_RELAXED), cell);       \
			show("sub", __atomic_fetch_sub(&cell, b, __ATOMIC_RELEASE), cell);       \
			show("and", __atomic_fetch_and(&cell, a, __ATOMIC_SEQ_CST), cell);       \
			show("or", __atomic_fetch_or(&cell, b, __ATOMIC_ACQ_REL), cell);         \
			show("xor", __atomic_fetch_xor(&cell, a, __ATOMIC_SEQ_CST), cell);       \
			show("nand", __atomic_fetch_nand(&cell, b, __ATOMIC_SEQ_CST), cell);     \
			show("add_fetch", __atomic_add_fetch(&cell, a, __ATOMIC_SEQ_CST), cell); \
			expected = cell;                                                         \
			show("cas", __atomic_compare_exchange_n(&cell, &expected, b, 0,          \
				__ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE), cell);                      \
			expected = (TYPE)~cell;                                                  \
			show("cas no", __atomic_compare_exchange_n(&cell, &expected, a, 0,       \
				__ATOMIC_SEQ_CST, __ATOMIC_RELAXED), expected);                  \
			show("sync", __sync_val_compare_and_swap(&cell, cell, a), cell);         \
		}                                                                                \
	}

OPERATIONS(uint8_t)
OPERATIONS(uint16_t)
OPERATIONS(uint32_t)
OPERATIONS(uint64_t)
OPERATIONS(u128)

int main(void)
{
	test_uint8_t();
	test_uint16_t();
	test_uint32_t();
	test_uint64_t();
	test_u128();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}
