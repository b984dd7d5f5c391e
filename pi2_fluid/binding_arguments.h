// What bindings take from Python: lists and arrays of numbers, names in the kernel's tables; and refusals of others,
// which reach Python as a ValueError.
#ifndef PI2_BINDING_ARGUMENTS_H
#define PI2_BINDING_ARGUMENTS_H

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace binding {

using Numbers = std::vector<double>;

// Arguments of these types are registered with noconvert(): what is written to a converted copy would be lost.
template <typename T>
using Line = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <typename T>
using Rows = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

[[noreturn]] inline void refuse(const std::string &sentence)
{
    throw std::invalid_argument(sentence);
}

// Sentences that must be put together are left to refuse(): here they would be, even where nothing is wrong.
inline void require(bool holds, const char *sentence)
{
    if (!holds)
        refuse(sentence);
}

// What was found under a name in one of the kernel's tables, null: nothing.
template <typename T> const T *named(const T *found, const std::string &name, const char *kind)
{
    if (!found)
        refuse("'" + name + "' is not a " + kind + " of the kernel.");
    return found;
}

inline void require_count(const Numbers &numbers, int count, const std::string &what)
{
    if (numbers.size() != static_cast<std::size_t>(count))
        refuse(what + " takes " + std::to_string(count) + " numbers, not " + std::to_string(numbers.size()) + ".");
}

inline void copy(const Numbers &from, double *to, int count, const std::string &what)
{
    require_count(from, count, what);
    std::copy(from.begin(), from.end(), to);
}

inline void require_sound(bool sound, const std::string &name)
{
    if (!sound)
        refuse(name + " cannot have these parameters.");
}

// The number of an instruction set of this machine, none: of the fastest.
int simd_level(const std::optional<std::string> &name);

} // namespace binding

#endif
