// A class with a nested struct, bit-fields, an aligned member, and assertions about its layout.
#include <cstddef>
#include <type_traits>

#include "threads.h"

struct Session {
  struct Config {
    int retries = 3;
    int timeout{50};
  };

  long id = 0;
  long (*handler)(long) = nullptr;
  Config config{};
  OWN_LINES std::atomic<long> hits{0};
  OWN_LINES mutable long looked_at = 0;
  unsigned is_open : 1;
  unsigned kind : 7;
  union {
    long number;
    char text[8];
  };
  alignas(64) char buffer[64];

  Session() : is_open(1), kind(2), number(0), buffer{} {}
};

static_assert(std::is_standard_layout<Session>::value, "others map it");
static_assert(offsetof(Session, id) == 0, "the id is first");
static_assert(alignof(Session) == 64);

static Session* session;

int main(int count, char** words) {
  session = new Session();
  run_threads(count, words, [](int number) -> long {
    if (number == 0) {
      session->hits.fetch_add(1, std::memory_order_relaxed);
      return 1;
    }
    return session->is_open ? session->config.retries + session->config.timeout : 0;
  });
}
