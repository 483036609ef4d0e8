#pragma once
#include <atomic>

namespace net {

// Its virtual functions are in listener.cc, so that debug information has the class there alone.
class Listener {
 public:
  virtual ~Listener();
  virtual long backlog() const;
  std::atomic<long> accepted_{0};
};

}  // namespace net

namespace files {

// Another class of the same name.
class Listener {
 public:
  virtual ~Listener() = default;
  char name_[200];
};

}  // namespace files
