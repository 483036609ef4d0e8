// Virtual calls, new, containers, exceptions through the allocator, unaligned and wide accesses.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
	virtual ~Base() {}
	virtual long step(long n) { return n + 1; }
	long hits = 0;
};
struct Derived : Base {
	long step(long n) override { return n + 2; }
	long more = 0;
};

#pragma pack(push, 1)
struct Packed {
	char tag;
	uint64_t value;
	uint32_t half;
};
#pragma pack(pop)

__attribute__((noinline)) Base *make_derived() { return new Derived; }
__attribute__((noinline)) void bump(Packed *packed)
{
	packed->value += 3;
	packed->half += 1;
}

int main()
{
	std::unique_ptr<Base> shared(make_derived());
	auto packed = std::make_unique<Packed>();
	packed->value = packed->half = 0;
	// Now and then they wait for each other, so that they take turns on a busy machine too.
	pthread_barrier_t together;
	pthread_barrier_init(&together, nullptr, 2);
	auto work = [&](long *own) {
		for (long i = 0; i < 20000; i++) {
			if (i % 200 == 0)
				pthread_barrier_wait(&together);
			*own = shared->step(*own);
		}
	};
	std::thread one(work, &shared->hits);
	std::thread two(work, &static_cast<Derived *>(shared.get())->more);
	one.join();
	two.join();
	for (int i = 0; i < 1000; i++)
		bump(packed.get());
	int caught = 0;
	volatile size_t huge = SIZE_MAX / 2;
	try {
		char *volatile none = new char[huge];
		delete[] none;
	} catch (const std::bad_alloc &) {
		caught++;
	}
	try {
		throw std::runtime_error(std::string(100, 'x'));
	} catch (const std::exception &error) {
		caught += std::strlen(error.what()) == 100;
	}
	std::vector<std::string> words;
	for (int i = 0; i < 1000; i++)
		words.push_back(std::to_string(i) + " a string too long to be kept inside");
	std::printf("shared %p\npacked %p\ncaught %d\nvalue %lu\nwords %zu\nhits %ld\n", (void *)shared.get(),
		    (void *)packed.get(), caught, packed->value, words.size(), shared->hits);
	return 0;
}
