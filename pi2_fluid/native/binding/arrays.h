// What bindings give to Python: numbers as NumPy arrays that own them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace binding {

// The vector itself becomes the array's memory, in the shape given.
template <typename T> nanobind::object as_array(std::vector<T> &&values, std::initializer_list<std::size_t> shape)
{
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    kept->reserve(1); // an empty array has an address, too
    T *const first = kept->data();
    const nanobind::capsule owner(kept.get(), [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    kept.release();
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(first, shape.size(), shape.begin(), owner));
}

// A copy of every `stride`-th number from `first` on, as many as the shape holds.
template <typename T, typename From>
nanobind::object array_of(const From *first, std::size_t stride, std::initializer_list<std::size_t> shape)
{
    std::vector<T> values(std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>()));
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = first[i * stride];
    return as_array(std::move(values), shape);
}

// A copy of one member of each of `count` rows.
template <typename T, typename Row, typename Member>
nanobind::object column_of(const Row *rows, std::size_t count, Member Row::*member)
{
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; i++)
        values[i] = rows[i].*member;
    return as_array(std::move(values), {count});
}

} // namespace binding
