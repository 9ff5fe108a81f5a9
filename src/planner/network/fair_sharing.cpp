#include "planner/network/fair_sharing.h"

#include "base/index.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

namespace {

/// Ends nearer than this, relative to the time itself, are one event.
constexpr double kSameTime = 1e-10;
constexpr double kSameLevel = 1 + 1e-9;
/// Of a resource: less slows nobody.
constexpr double kNoLoad = 1e-9;

}  // namespace

FairSharing::FairSharing(std::size_t resources) : resources_(resources) {}

void FairSharing::mark(const Work& work) {
  for (std::size_t i = 0; i < work.use_count; ++i) {
    Resource& resource = resources_[at(work.uses[i].resource)];
    if (resource.is_dirty) continue;
    resource.is_dirty = true;
    dirty_.push_back(work.uses[i].resource);
  }
}

void FairSharing::start(const Work& work, int owner) {
  int flow = static_cast<int>(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
  } else {
    flow = unused_.back();
    unused_.pop_back();
  }
  Flow& started = flows_[at(flow)];
  const std::uint32_t version = started.version + 1;
  started = {.work = work, .owner = owner, .version = version, .since_s = now_s_, .is_active = true};
  for (std::size_t i = 0; i < work.use_count; ++i) resources_[at(work.uses[i].resource)].flows.push_back(flow);
  mark(work);
  if (work.use_count == 0) {
    started.speed = 1;
    ends_.push({now_s_ + work.alone_s, flow, version});
  }
}

void FairSharing::finish(int flow) {
  Flow& finished = flows_[at(flow)];
  finished.is_active = false;
  ++finished.version;
  done_.push_back(finished.owner);
  mark(finished.work);
  finished_.push_back(flow);
}

/// Everything connected to `first` by flows that share resources, into component_*. Lists lose their finished flows.
void FairSharing::collect_component(int first) {
  component_flows_.clear();
  component_resources_.assign(1, first);
  resources_[at(first)].visit = visits_;
  for (std::size_t next = 0; next < component_resources_.size(); ++next) {
    Resource& resource = resources_[at(component_resources_[next])];
    resource.is_dirty = false;
    looked_at_ += static_cast<double>(1 + resource.flows.size());
    std::erase_if(resource.flows, [&](int flow) { return !flows_[at(flow)].is_active; });
    for (const int number : resource.flows) {
      Flow& flow = flows_[at(number)];
      if (flow.visit == visits_) continue;
      flow.visit = visits_;
      component_flows_.push_back(number);
      for (std::size_t i = 0; i < flow.work.use_count; ++i) {
        const int other = flow.work.uses[i].resource;
        if (resources_[at(other)].visit == visits_) continue;
        resources_[at(other)].visit = visits_;
        component_resources_.push_back(other);
      }
    }
  }
}

void FairSharing::fix(int number, double speed) {
  Flow& flow = flows_[at(number)];
  flow.is_fixed = true;
  for (std::size_t i = 0; i < flow.work.use_count; ++i) {
    const auto& [resource, share] = flow.work.uses[i];
    resources_[at(resource)].left -= speed * share;
    resources_[at(resource)].load -= share;
    --resources_[at(resource)].unfixed;
  }
  if (std::abs(flow.speed - speed) <= 1e-12 * speed) return;
  flow.left = std::max(0.0, flow.left - flow.speed * (now_s_ - flow.since_s) / flow.work.alone_s);
  flow.since_s = now_s_;
  flow.speed = speed;
  ends_.push({now_s_ + flow.left * flow.work.alone_s / speed, number, ++flow.version});
}

/// Progressive filling: all speeds rise together; whoever uses the resource that is full first keeps that speed.
void FairSharing::fill_component() {
  for (const int resource : component_resources_) {
    resources_[at(resource)].left = 1;
    resources_[at(resource)].load = 0;
    resources_[at(resource)].unfixed = 0;
  }
  for (const int number : component_flows_) {
    Flow& flow = flows_[at(number)];
    flow.is_fixed = false;
    for (std::size_t i = 0; i < flow.work.use_count; ++i) {
      resources_[at(flow.work.uses[i].resource)].load += flow.work.uses[i].share;
      ++resources_[at(flow.work.uses[i].resource)].unfixed;
    }
  }
  const auto rises = [](const Resource& resource) { return resource.unfixed > 0 && resource.load > kNoLoad; };
  while (true) {
    double level = 1;
    for (const int number : component_resources_) {
      const Resource& resource = resources_[at(number)];
      if (rises(resource)) level = std::min(level, resource.left / resource.load);
    }
    looked_at_ += static_cast<double>(component_resources_.size());
    if (level >= 1) break;
    for (const int number : component_resources_) {
      const Resource& resource = resources_[at(number)];
      if (!rises(resource) || resource.left / resource.load > level * kSameLevel) continue;
      looked_at_ += static_cast<double>(resource.flows.size());
      for (const int flow : resource.flows) {
        if (!flows_[at(flow)].is_fixed) fix(flow, level);
      }
    }
  }
  for (const int number : component_flows_) {
    if (!flows_[at(number)].is_fixed) fix(number, 1);
  }
}

void FairSharing::share_again() {
  ++visits_;
  for (const int resource : dirty_) {
    if (resources_[at(resource)].visit == visits_) continue;
    collect_component(resource);
    fill_component();
  }
  for (const int resource : dirty_) resources_[at(resource)].is_dirty = false;
  dirty_.clear();
  unused_.insert(unused_.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

const std::vector<int>& FairSharing::next() {
  share_again();
  done_.clear();
  while (!ends_.empty()) {
    const End end = ends_.top();
    if (!done_.empty() && end.at_s > now_s_ * (1 + kSameTime)) break;
    ends_.pop();
    if (flows_[at(end.flow)].version != end.version || !flows_[at(end.flow)].is_active) continue;
    if (done_.empty()) now_s_ = std::max(now_s_, end.at_s);
    finish(end.flow);
  }
  return done_;
}

}  // namespace lockstep
