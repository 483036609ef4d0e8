// Four threads that work at the same time.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// Lines of its own for a member or a type, in the repaired program.
#ifdef REPAIRED
#define OWN_LINES alignas(64)
#else
#define OWN_LINES
#endif

constexpr int kThreads = 4;
// The threads wait for each other so often, so that they take turns on a busy machine too.
constexpr long kRoundsApart = 32;

// Starts work(number) for each round of each thread, and prints the sum of its results.
template <typename Work>
void run_threads(int count, char** words, Work work) {
  long rounds = count > 1 ? std::atol(words[1]) : 20000;
  pthread_barrier_t together;
  pthread_barrier_init(&together, nullptr, kThreads);
  long sums[kThreads * 16] = {};
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; number++)
    threads.emplace_back([&, number] {
      long sum = 0;
      for (long i = 0; i < rounds; i++) {
        if (i % kRoundsApart == 0) pthread_barrier_wait(&together);
        asm volatile("" ::: "memory");
        sum += work(number);
      }
      sums[number * 16] = sum;
    });
  for (auto& thread : threads) thread.join();
  std::printf("%ld\n", sums[0]);
}
