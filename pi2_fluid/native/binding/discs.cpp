// Discs that contain loops over boxes: what their terms add up to.
#include "binding/discs.h"

#include <cstdint>
#include <vector>

#include "binding/arguments.h"
#include "binding/arrays.h"
#include "margins/aliases/discs.h"

namespace nb = nanobind;
using namespace binding;

namespace {

constexpr std::int64_t MOST_ALIASES = 1 << 20;
constexpr std::size_t GIVEN = 9, FOUND = 8;

using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

Table disc_terms(bool scalable, bool exact, bool falling, double echo, double steepest, double bend, double turn,
                      double largest, std::int64_t aliases, Rows<const double> boxes)
{
    require(aliases >= 0 && aliases <= MOST_ALIASES, "aliases is outside [0, 2^20].");
    require(boxes.shape(0) == GIVEN, "boxes must have nine rows.");
    const std::size_t n = boxes.shape(1);
    const pi2_disc_family family = {scalable, exact, falling, echo,    steepest,
                                    bend,     turn,  largest, static_cast<int>(aliases)};
    std::vector<double> found(FOUND * n);
    {
        nb::gil_scoped_release release;
        const double *const in = boxes.data();
        double *const out = found.data();
        pi2_disc_terms(&family, n,
                       {in, in + n, in + 2 * n, in + 3 * n, in + 4 * n, in + 5 * n, in + 6 * n, in + 7 * n, in + 8 * n},
                       {out, out + n, out + 2 * n, out + 3 * n, out + 4 * n, out + 5 * n, out + 6 * n, out + 7 * n});
    }
    return nb::cast<Table>(as_array(std::move(found), {FOUND, n}));
}

} // namespace

void register_discs(nb::module_ &module)
{
    module.def("disc_terms", &disc_terms, nb::kw_only(), nb::arg("scalable"), nb::arg("exact"), nb::arg("falling"),
               nb::arg("echo"), nb::arg("steepest"), nb::arg("bend"), nb::arg("turn"), nb::arg("largest"),
               nb::arg("aliases"), nb::arg("boxes").noconvert(),
               R"(What the terms of loops over boxes add up to (native/margins/aliases/discs.h).

`boxes` has rows: centres of w, R and mu, their half-widths, real and imaginary part of the
controller's slope, and its bend. Returns rows: real and imaginary part of the sum of G, the sums
of |G| and of |G| (e^rho - 1), whether all bounds hold, and what w, R and mu add to rho at k = 0.
Releases the GIL.

Raises
------
ValueError
    If there are not nine rows, or aliases are outside [0, 2^20].
)");
}
