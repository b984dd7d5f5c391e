// Where several links rest, from the tapes of their laws.
#include "binding/desk_networks.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/desk_laws.h"
#include "desk/network_rest.h"

namespace nb = nanobind;
using namespace binding;

namespace {

using Line1 = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
// A queue's law, its numbers, the highest value of its variable, the load at rest, packets per second.
using Link = std::tuple<const DeskQueue *, Numbers, double, double, double>;
// A sender's law, its numbers, how many flows, their base round-trip time (s), the links that they cross.
using Class = std::tuple<const DeskSender *, Numbers, double, double, std::vector<int>>;

std::optional<Line1> rest_of_network(const std::vector<Link> &links, const std::vector<Class> &classes, bool adds)
{
    require(!links.empty() && links.size() <= PI2_DESK_LINKS, "links are outside [1, 24].");
    require(!classes.empty(), "there must be a class.");
    std::vector<pi2_desk_queue> queues;
    std::vector<pi2_desk_flows> flows;
    std::vector<int> hops, route;
    for (const auto &[law, numbers, highest, load, packets] : links) {
        require(law != nullptr, "a link's law is none of the desk.");
        require_count(numbers, std::max(law->functions.parameters, 0), "a queue's law");
        queues.push_back({law->encode, law->at_rest, numbers.data(), law->bands, law->states, highest, load, packets});
    }
    for (const auto &[law, numbers, count, base_rtt, crossed] : classes) {
        require(law != nullptr, "a class's law is none of the desk.");
        require_count(numbers, std::max(law->functions.parameters, 0), "a sender's law");
        flows.push_back({law->at_rest, law->rate, law->sending, numbers.data(), law->states, law->hears, count, base_rtt});
        hops.push_back(static_cast<int>(crossed.size()));
        for (int link : crossed) {
            require(link >= 0 && static_cast<std::size_t>(link) < links.size(), "a route has a link that there is not.");
            route.push_back(link);
        }
    }
    const pi2_desk_network network = {static_cast<int>(queues.size()), static_cast<int>(flows.size()), queues.data(),
                                      flows.data(), hops.data(), route.data(), adds};
    std::vector<double> found(queues.size());
    bool rests;
    {
        nb::gil_scoped_release release;
        rests = pi2_find_network_rest(&network, found.data());
    }
    if (!rests)
        return std::nullopt;
    return nb::cast<Line1>(as_array(std::move(found), {queues.size()}));
}

} // namespace

void register_desk_networks(nb::module_ &module)
{
    module.def("rest_of_network", &rest_of_network, nb::arg("links"), nb::arg("classes"), nb::kw_only(), nb::arg("adds"),
               R"(Return the coordinate of each link at rest (native/desk/network_rest.h), None where it was not found.

Links are a law, its numbers, the highest value of its variable, the load at rest and packets per second; classes a law,
its numbers, how many flows, their base round-trip time (s) and the links that they cross.

Raises
------
ValueError
    If a law has other numbers, or there is no such link.
)");
}
