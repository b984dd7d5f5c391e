// Arrays of loops by the clock of acknowledgements: margins, |1 + L| and unstable modes, searched on followed curves.
#include "binding/ack_loops.h"

#include <memory>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "binding/searched_loops.h"
#include "margins/search/ack_loop.h"

namespace nb = nanobind;
using namespace binding;

namespace {

struct ClassColumns {
    Rows<const double> own[2], signal[2], acks[2]; // a row for each coefficient
    Column base_rtt, rtt, heard, share, smoothing, rates, grown, cut;
    bool waits, reduces, paced;

    pi2_ack_class at(std::size_t i) const
    {
        pi2_ack_class cls = {};
        for (int part = 0; part < 2; part++) {
            pick(own[part], i, cls.own[part]);
            pick(signal[part], i, cls.signal[part]);
            pick(acks[part], i, cls.acks[part]);
        }
        cls.base_rtt = base_rtt(i);
        cls.rtt = rtt(i);
        cls.heard = heard(i);
        cls.share = share(i);
        cls.smoothing = smoothing(i);
        cls.waits = waits;
        cls.reduces = reduces;
        cls.paced = paced;
        return cls;
    }

    pi2_ack_size size_at(std::size_t i) const { return {rates(i), grown(i), cut(i)}; }

  private:
    static void pick(const Rows<const double> &from, std::size_t i, double *to)
    {
        for (std::size_t k = 0; k < from.shape(0); k++)
            to[k] = from(k, i);
    }
};

class AckLoops : public SearchedLoops<AckLoops> {
  public:
    struct Room {
        pi2_searching searching = {};
        std::vector<pi2_ack_class> classes;
        std::vector<pi2_ack_size> sizes;
        std::unique_ptr<pi2_ack_loop, void (*)(pi2_ack_loop *)> loop = {nullptr, pi2_ack_loop_free};

        Room() = default;
        Room(const Room &) = delete;
        Room &operator=(const Room &) = delete;
        ~Room() { pi2_searching_free(&searching); }
    };

    AckLoops(AllDescribed classes, Rows<const double> top, Rows<const double> bottom, Column unit, Column interval,
             Column queue_delay, Column unclocked, Column slow, Whole settles, double bunch, bool head,
             const std::string &update, bool rough)
        : SearchedLoops(unit.shape(0)), controllers(loops, top, bottom, unit, interval, update),
          queue_delay(loops.of_each(queue_delay, "queue_delay")), unclocked(loops.of_each(unclocked, "unclocked")),
          slow(loops.of_each(slow, "slow")), settles(loops.of_each(settles, "settles")), bunch(bunch), head(head),
          pairs(rough ? PI2_ACK_FEW_PAIRS : PI2_ACK_PAIRS), weights(4 * pairs)
    {
        pi2_ack_weigh(pairs, weights.data());
        require(classes.size() > 0, "there must be a class.");
        for (nb::handle object : classes)
            this->classes.push_back(columns_of(object));
    }

    bool prepare(std::size_t i, Room &room, pi2_loop &to) const
    {
        room.classes.clear();
        room.sizes.clear();
        for (const ClassColumns &cls : classes) {
            room.classes.push_back(cls.at(i));
            room.sizes.push_back(cls.size_at(i));
        }
        pi2_ack_parts parts = {};
        parts.classes = room.classes.size();
        parts.cls = room.classes.data();
        parts.size = room.sizes.data();
        parts.queue = {queue_delay(i), bunch, head};
        parts.unclocked = unclocked(i);
        parts.controller = controllers.at(i);
        parts.slow = slow(i);
        parts.settles = settles(i) != 0;
        parts.pairs = pairs;
        parts.weights = weights.data();
        room.loop.reset(pi2_ack_loop_make(&parts));
        if (room.loop)
            to = pi2_loop_of_acks(room.loop.get());
        return room.loop != nullptr;
    }

  private:
    ClassColumns columns_of(nb::handle object) const
    {
        const Entries given(object, "a class of flows",
                            {"own", "own_reduced", "signal", "signal_reduced", "acks", "acks_reduced", "base_rtt", "rtt",
                             "heard", "share", "smoothing", "rates", "grown", "cut", "waits", "reduces", "paced"});
        const auto table = [&](const char *name) {
            const auto rows = given.as<Rows<const double>>(name);
            if (rows.shape(0) > PI2_ACK_COEFFICIENTS || rows.shape(1) != loops.n)
                refuse(std::string(name) + " must have " + std::to_string(PI2_ACK_COEFFICIENTS)
                       + " rows at most, and a column for each loop.");
            return rows;
        };
        const auto column = [&](const char *name) { return loops.column(given, name); };
        return {{table("own"), table("own_reduced")},
                {table("signal"), table("signal_reduced")},
                {table("acks"), table("acks_reduced")},
                column("base_rtt"),
                column("rtt"),
                column("heard"),
                column("share"),
                column("smoothing"),
                column("rates"),
                column("grown"),
                column("cut"),
                given.as<bool>("waits"),
                given.as<bool>("reduces"),
                given.as<bool>("paced")};
    }

    const Controllers controllers;
    std::vector<ClassColumns> classes;
    Column queue_delay, unclocked, slow;
    Whole settles;
    double bunch;
    bool head;
    std::size_t pairs; // of aliases
    std::vector<double> weights;
};

} // namespace

void register_ack_loops(nb::module_ &module)
{
    nb::class_<AckLoops> loops(module, "AckLoops", "An array of loops by the clock of acknowledgements.");
    loops.def(nb::init<AllDescribed, Rows<const double>, Rows<const double>, Column, Column, Column, Column, Column, Whole,
                       double, bool, const std::string &, bool>(),
              nb::arg("classes"), nb::kw_only(), nb::arg("top").noconvert(), nb::arg("bottom").noconvert(),
              nb::arg("unit").noconvert(), nb::arg("interval").noconvert(), nb::arg("queue_delay").noconvert(),
              nb::arg("unclocked").noconvert(), nb::arg("slow").noconvert(), nb::arg("settles").noconvert(),
              nb::arg("bunch"), nb::arg("head"), nb::arg("update"), nb::arg("rough") = false,
              R"(Take the numbers of `pi2_ack_parts`, each an array with one of each loop, or one of all.

Classes are dicts of `pi2_ack_class` and `pi2_ack_size`, whose polynomials, `top` and `bottom` have a row for each coefficient.
With `rough` sampled ones are within some 1e-4 of theirs, in a third of the time.

Raises
------
ValueError
    If a name is missing or unknown, or a number or length is out of range.
)");
    define_searches(loops);
}
