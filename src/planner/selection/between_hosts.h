#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// What is built in where ranks are on two hosts or more, beyond what holds wherever messages are sent: the text of a
/// selection (selection.h) of all_reduce, reduce_scatter, all_gather, broadcast and reduce. Where some ranks share a
/// host, compositions up to some size. `hosts` are the ranks of each, as many as there are or not.
std::string built_in_between_hosts(const std::vector<std::vector<int>>& hosts);

}  // namespace lockstep
