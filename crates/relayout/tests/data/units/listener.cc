#include "listener.h"

namespace net {

Listener::~Listener() = default;

long Listener::backlog() const { return accepted_; }

}  // namespace net

long first_of(const files::Listener& listener) { return listener.name_[0]; }
