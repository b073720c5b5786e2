//===- ValidRanges.h - where each byte has valid copies --------*- C++ -*-===//
#ifndef ONNX_AOT_RUNTIME_SRC_CUDA_VALIDRANGES_H
#define ONNX_AOT_RUNTIME_SRC_CUDA_VALIDRANGES_H

#include <cstdint>
#include <map>

namespace onnx_aot::runtime {

/// For host addresses: is the copy there valid, is the one on the device.
/// Addresses that nothing was said of have no valid copy: nobody wrote them.
class ValidRanges {
public:
  struct State {
    bool host = false, device = false;
    bool operator==(const State &other) const {
      return host == other.host && device == other.device;
    }
  };

  /// Nothing is said any more of begin <= address < end.
  void clear(uint64_t begin, uint64_t end) {
    if (begin >= end)
      return;
    split(begin);
    split(end);
    ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
  }

  /// States what holds for begin <= address < end.
  void set(uint64_t begin, uint64_t end, State state) {
    if (begin >= end)
      return;
    clear(begin, end);
    auto place = ranges.insert({begin, {end, state}}).first;
    place = mergeWithPrevious(place);
    auto next = std::next(place);
    if (next != ranges.end())
      mergeWithPrevious(next);
  }

  /// Calls visit(begin, end, state) for the stated parts of a range. `visit`
  /// must not change the ranges.
  template <typename Visit>
  void visit(uint64_t begin, uint64_t end, Visit visit) const {
    auto place = ranges.upper_bound(begin);
    if (place != ranges.begin())
      --place;
    for (; place != ranges.end() && place->first < end; ++place) {
      uint64_t from = place->first < begin ? begin : place->first;
      uint64_t to = place->second.end < end ? place->second.end : end;
      if (from < to)
        visit(from, to, place->second.state);
    }
  }

private:
  struct Range {
    uint64_t end;
    State state;
  };
  using Map = std::map<uint64_t, Range>;

  void split(uint64_t at) {
    auto place = ranges.lower_bound(at);
    if (place == ranges.begin())
      return;
    --place;
    if (place->second.end <= at)
      return;
    ranges.insert({at, place->second});
    place->second.end = at;
  }

  Map::iterator mergeWithPrevious(Map::iterator place) {
    if (place == ranges.begin())
      return place;
    auto previous = std::prev(place);
    if (previous->second.end != place->first ||
        !(previous->second.state == place->second.state))
      return place;
    previous->second.end = place->second.end;
    ranges.erase(place);
    return previous;
  }

  Map ranges;
};

} // namespace onnx_aot::runtime

#endif // ONNX_AOT_RUNTIME_SRC_CUDA_VALIDRANGES_H
