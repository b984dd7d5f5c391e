// What bindings take from Python: numbers by their names, arrays of numbers, names in the kernel's tables; and refusals
// of others, which reach Python as a ValueError.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace binding {

using Numbers = std::vector<double>;
// What Python is told of an argument that is taken as any object and read by hand, with a sentence of its own where
// that fails; and of a dict or a tuple that is returned.
template <typename T> using Told = nanobind::typed<nanobind::handle, T>;
template <typename T> using Dict = nanobind::typed<nanobind::dict, nanobind::str, T>;
template <typename T> using Many = nanobind::typed<nanobind::tuple, T, nanobind::ellipsis>;
using Described = Dict<nanobind::any>;
using AllDescribed = nanobind::typed<nanobind::list, Described>;
// What configures a law: its numbers by the names of the fields in the kernel's struct.
using Parameters = std::map<std::string, double>;

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

// What is missing of `names`, and what is beyond them, in one sentence.
template <typename Given>
void require_names(const Given &given, const std::vector<std::string> &names, const std::string &what)
{
    std::string unknown, missing;
    for (const auto &[name, value] : given)
        if (std::find(names.begin(), names.end(), name) == names.end())
            unknown += (unknown.empty() ? "'" : ", '") + name + "'";
    for (const std::string &name : names)
        if (given.find(name) == given.end())
            missing += (missing.empty() ? "'" : ", '") + name + "'";
    if (!unknown.empty())
        refuse(what + " knows no " + unknown + (missing.empty() ? "." : ", and lacks " + missing + "."));
    if (!missing.empty())
        refuse(what + " lacks " + missing + ".");
}

// The struct of doubles that configures a law, from numbers by name. None of them is NaN.
template <typename Law, std::size_t Room>
void read_parameters(const Law *law, const Parameters &given, double (&to)[Room])
{
    const std::vector<std::string> names(law->names, law->names + law->parameters);
    require(names.size() <= Room, "a law of the kernel has more parameters than there is room for.");
    require_names(given, names, law->name);
    for (std::size_t i = 0; i < names.size(); i++) {
        to[i] = given.at(names[i]);
        if (std::isnan(to[i]))
            refuse(std::string(law->name) + " " + names[i] + " is not a number.");
    }
}

// The number of a word: its place among those that there are.
inline int place_of(const std::string &word, const std::vector<std::string> &words, const std::string &what)
{
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end())
        refuse(what + " = '" + word + "' is unknown.");
    return static_cast<int>(found - words.begin());
}

// A dict whose entries are read one by one, all of those that there are.
class Entries {
  public:
    Entries(nanobind::handle object, std::string what, const std::vector<std::string> &names) : what(std::move(what))
    {
        if (!nanobind::try_cast<std::map<std::string, nanobind::object>>(object, entries))
            refuse(this->what + " is no dict.");
        require_names(entries, names, this->what);
    }

    nanobind::handle operator[](const char *name) const { return entries.at(name); }
    bool is_none(const char *name) const { return entries.at(name).is_none(); }

    template <typename T> T as(const char *name) const
    {
        T value;
        if (!nanobind::try_cast<T>(entries.at(name), value))
            refuse(what + " " + name + " is of another type, or too large.");
        return value;
    }

    std::int64_t whole(const char *name, std::int64_t low, std::int64_t high) const
    {
        const auto value = as<std::int64_t>(name);
        if (value < low || value > high)
            refuse(what + " " + name + " = " + std::to_string(value) + " is outside [" + std::to_string(low) + ", "
                   + std::to_string(high) + "].");
        return value;
    }

    int one_of(const char *name, const std::vector<std::string> &words) const
    {
        return place_of(as<std::string>(name), words, what + " " + name);
    }

    const std::string what;

  private:
    std::map<std::string, nanobind::object> entries;
};

inline void require_sound(bool sound, const std::string &name)
{
    if (!sound)
        refuse(name + " cannot have these parameters.");
}

// The number of an instruction set of this machine, none: of the fastest.
int simd_level(const std::optional<std::string> &name);

} // namespace binding
