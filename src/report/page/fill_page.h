#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep {

/// A page of page.h with its title and its data, neither of which can become markup whatever stands in them.
std::string fill_page(std::string_view page, const std::string& title, const nlohmann::ordered_json& data);

}  // namespace lockstep
