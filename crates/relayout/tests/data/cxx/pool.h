// A class with access labels, whose constructors another file has.
#pragma once
#include <string>

#include "threads.h"

namespace net {

class Pool {
 public:
  Pool();
  Pool(long limit, std::string name);
  ~Pool();
  Pool(const Pool&) = delete;

  void take();
  long limit() const { return limit_ + retries_; }

 public:
  long tries = 0;

 private:
  // Connections that are taken and not given back.
  OWN_LINES std::atomic<long> in_use_;
  OWN_LINES long limit_;
  long retries_;

 protected:
  std::string name_;
  char spare_[80];
};

}  // namespace net
