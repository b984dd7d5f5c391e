// Proofs over regions: branch and bound with discs around loops, and with half-planes around mixtures.
#include "binding/proofs.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "margins/proofs/boxes.h"
#include "margins/proofs/mixtures.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::int64_t MOST_ALIASES = 1 << 20, MOST_BOXES = 1 << 28, MOST_ROUNDS = 1 << 10;
constexpr std::size_t SIDES = 3, OF_A_DISC = 5;

using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Boxes = std::vector<pi2_proof_box>;
using Discs = std::vector<pi2_proof_disc>;
using Left = nb::typed<nb::tuple, Table, Table, std::int64_t, double, bool>;

Boxes boxes_of(Rows<const double> given)
{
    require(given.shape(0) == 2 * SIDES, "boxes must have six rows.");
    Boxes boxes(given.shape(1));
    for (std::size_t i = 0; i < boxes.size(); i++)
        for (std::size_t side = 0; side < SIDES; side++) {
            boxes[i].centre[side] = given(side, i);
            boxes[i].half[side] = given(SIDES + side, i);
        }
    return boxes;
}

Table table_of(const Boxes &boxes)
{
    const std::size_t n = boxes.size();
    std::vector<double> rows(2 * SIDES * n);
    for (std::size_t i = 0; i < n; i++)
        for (std::size_t side = 0; side < SIDES; side++) {
            rows[side * n + i] = boxes[i].centre[side];
            rows[(SIDES + side) * n + i] = boxes[i].half[side];
        }
    return nb::cast<Table>(as_array(std::move(rows), {2 * SIDES, n}));
}

class Proof {
  public:
    Proof(const Described &described)
    {
        const Entries given(described, "a proof",
                            {"scalable", "falling", "exact", "update", "m", "alpha", "beta", "interval", "echo", "steepest",
                             "bend", "far", "rounding", "largest", "aliases", "near", "phase", "modulus"});
        const auto number = [&](const char *name) { return given.as<double>(name); };
        proof = {given.as<bool>("scalable"), given.as<bool>("falling"), given.as<bool>("exact"),
                 given.one_of("update", {"sampled", "delayed", "continuous"}), number("m"), number("alpha"), number("beta"),
                 number("interval"), number("echo"), number("steepest"), number("bend"), number("far"), number("rounding"),
                 number("largest"), static_cast<int>(given.whole("aliases", 0, MOST_ALIASES)), number("near"),
                 number("phase"), number("modulus")};
        require(proof.interval > 0.0, "interval must be positive.");
    }

    Table enclose(Rows<const double> given) const
    {
        const Boxes boxes = boxes_of(given);
        Discs discs(boxes.size());
        {
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i < boxes.size(); i++)
                discs[i] = pi2_proof_enclose(&proof, &boxes[i], proof.aliases);
        }
        return rows_of(discs, discs.size());
    }

    Left rounds(Rows<const double> given, std::int64_t rounds, std::int64_t count, std::int64_t most, double terms,
                double most_terms) const
    {
        require(rounds > 0 && rounds <= MOST_ROUNDS, "rounds are outside [1, 2^10].");
        require(most >= 0 && most <= MOST_BOXES, "most is outside [0, 2^28].");
        Boxes boxes = boxes_of(given), halves;
        Discs discs;
        bool spent = false;
        {
            nb::gil_scoped_release release;
            while (rounds-- && !boxes.empty()) {
                count += static_cast<std::int64_t>(boxes.size());
                spent = count > most || terms > most_terms;
                if (spent)
                    break;
                discs.resize(boxes.size());
                boxes.resize(pi2_proof_left(&proof, boxes.size(), boxes.data(), discs.data(), &terms));
                if (!rounds)
                    break;
                halves.resize(2 * boxes.size());
                pi2_proof_halves(boxes.size(), discs.data(), boxes.data(), halves.data());
                boxes.swap(halves);
            }
        }
        discs.resize(boxes.size());
        return nb::cast<Left>(nb::make_tuple(table_of(boxes), rows_of(discs, boxes.size()), count, terms, spent));
    }

  private:
    Table rows_of(const Discs &discs, std::size_t n) const
    {
        std::vector<double> rows(OF_A_DISC * n);
        for (std::size_t i = 0; i < n; i++) {
            rows[i] = discs[i].re;
            rows[n + i] = discs[i].im;
            rows[2 * n + i] = discs[i].radius;
            rows[3 * n + i] = discs[i].widest;
            rows[4 * n + i] = pi2_proof_distance(&proof, discs[i].re, discs[i].im);
        }
        return nb::cast<Table>(as_array(std::move(rows), {OF_A_DISC, n}));
    }

    pi2_proof proof;
};

std::int64_t mixture_boxes(const Dict<double> &law, bool exact, Rows<const double> cells, Rows<const double> boxes,
                           std::int64_t most)
{
    const Entries given(law, "a law of mixtures", {"interval", "integral", "gain", "factor", "rounding", "largest"});
    const auto number = [&](const char *name) { return given.as<double>(name); };
    const pi2_mixture_law own = {number("interval"), number("integral"), number("gain"), number("factor"), exact,
                                 number("rounding"), number("largest")};
    require(cells.shape(0) == 4, "cells must have four rows.");
    require(boxes.shape(0) == 4, "boxes must have four rows.");
    require(most >= 0 && most <= MOST_BOXES, "most is outside [0, 2^28].");
    std::vector<pi2_mixture_cell> cell(cells.shape(1));
    for (std::size_t i = 0; i < cell.size(); i++)
        cell[i] = {cells(0, i), cells(1, i), cells(2, i), cells(3, i) > 0.0};
    std::vector<pi2_mixture_box> box(boxes.shape(1));
    for (std::size_t i = 0; i < box.size(); i++)
        box[i] = {boxes(0, i), boxes(1, i), boxes(2, i), boxes(3, i)};
    std::size_t done;
    {
        nb::gil_scoped_release release;
        done = pi2_mixture_boxes(&own, cell.size(), cell.data(), box.size(), box.data(), static_cast<std::size_t>(most));
    }
    if (!done && !box.empty())
        throw std::bad_alloc();
    return static_cast<std::int64_t>(done);
}

} // namespace

void register_proofs(nb::module_ &module)
{
    nb::class_<Proof>(module, "Proof", "Branch and bound with discs around the loops of one sender (native/margins/proofs/boxes.h).")
        .def(nb::init<const Described &>(), nb::arg("described"), R"(Take the fields of `pi2_proof` by name; update as a word.

Raises
------
ValueError
    If a name is missing or unknown, or a number of another type or out of range.
)")
        .def("enclose", &Proof::enclose, nb::arg("boxes").noconvert(), R"(A disc around all L of each box.

`boxes` has rows: centres of w, R and mu, and their half-widths. Returns rows: real and imaginary
part of the centre, radius, which side adds most to it, and how far the centre is from what the
margins forbid. Releases the GIL.
)")
        .def("rounds", &Proof::rounds, nb::arg("boxes").noconvert(), nb::arg("rounds"), nb::arg("count"), nb::arg("most"),
             nb::arg("terms"), nb::arg("most_terms"), R"(Exclude boxes, and halve what is left between two rounds.

Returns the boxes that are left after the last round, their discs as `enclose` does, the count of
boxes and of terms so far, and whether more would have been needed than there may be, which is
asked before each round. Releases the GIL.
)");
    module.def("mixture_boxes", &mixture_boxes, nb::kw_only(), nb::arg("law"), nb::arg("exact"),
               nb::arg("cells").noconvert(), nb::arg("boxes").noconvert(), nb::arg("most"),
               R"(Cut boxes until the classes of each lie in a half-plane (native/margins/proofs/mixtures.h).

`law` has the numbers of `pi2_mixture_law`, factor 0 where p' itself is controlled. `cells` has
rows: R, half its width, omega and 1 for Scalable; `boxes`: w, p' and their half-widths. Returns how
many boxes were looked at, `most` + 1 where that many do not do. Releases the GIL.
)");
}
