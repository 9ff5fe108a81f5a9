#pragma once

#include <cstddef>
#include <memory>

namespace lockstep {

/// So many bytes of zeroed pages that nothing else lies in, and that go back to the system with their last owner,
/// whatever the allocator keeps of what is freed. None where there is no memory, of which errno then tells.
std::shared_ptr<void> map_pages(std::size_t bytes);

}  // namespace lockstep
