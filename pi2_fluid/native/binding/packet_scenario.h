// What Python says of a run of packets, as the kernel takes it; what that points to lies beside it.
#pragma once

#include <nanobind/stl/pair.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "binding/arguments.h"
extern "C" { // around the headers that it includes, too
#include "packet/simulator.h"
}

namespace binding {

// The name of a distribution of sizes, and its numbers.
using SizesTold = std::pair<std::string, Numbers>;

// The distribution of that name; its numbers stay where they are.
pi2_sizes sizes_of(const SizesTold &told, const std::string &what);

class PacketScenario {
  public:
    PacketScenario(Told<std::int64_t> duration, Told<std::int64_t> packet_size, const AllDescribed &links,
                   const AllDescribed &classes, const AllDescribed &changes, Told<std::uint64_t> seed,
                   Told<std::int64_t> bin, Told<std::int64_t> trace, const AllDescribed &detours);
    PacketScenario(const PacketScenario &) = delete;
    PacketScenario &operator=(const PacketScenario &) = delete;

    pi2_packet_scenario problem = {};

  private:
    void read_links(const AllDescribed &described);
    void read_classes(const AllDescribed &described);
    void read_changes(const AllDescribed &described);
    void read_detours(const AllDescribed &described);
    void require_rows() const;
    void require_few() const;

    std::vector<pi2_packet_link> links;
    std::vector<Numbers> pushes;
    std::vector<pi2_packet_class> classes;
    std::vector<std::uint32_t> routes;
    std::vector<std::int64_t> hops;
    std::deque<SizesTold> sizes; // which stay where they are as there come to be more
    std::vector<pi2_packet_change> changes;
    std::vector<std::int64_t> counts;
    std::vector<pi2_packet_detour> detours;
};

} // namespace binding
