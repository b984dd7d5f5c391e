// Laws on the desk: their tapes by name.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <string>
#include <vector>

#include "binding/arguments.h"
#include "binding/laws.h"
#include "desk/loop.h"

namespace binding {

// Functions of laws of one kind, by name.
class Functions {
  public:
    explicit Functions(const Tapes &given)
    {
        nanobind::dict all;
        if (!nanobind::try_cast<nanobind::dict>(given, all))
            refuse("tapes is no dict.");
        for (auto [name, value] : all) {
            const Tape *one;
            if (!nanobind::try_cast<const Tape *>(value, one) || !one)
                refuse("a tape of the desk is none.");
            kept.push_back(nanobind::borrow(value));
            names.push_back(nanobind::cast<std::string>(name));
            tapes.push_back(&one->tape);
            if (one->tape.parameters) {
                if (parameters >= 0 && parameters != one->tape.parameters)
                    refuse("tapes of one law have different parameters.");
                parameters = one->tape.parameters;
            }
        }
    }

    // Of so many inputs and results; null if there is none and there need not be one.
    const pi2_tape *shaped(const char *name, int inputs, int outputs, bool needed = true) const
    {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            if (needed)
                refuse(std::string("the tape ") + name + " is missing.");
            return nullptr;
        }
        const pi2_tape *const tape = tapes[static_cast<std::size_t>(found - names.begin())];
        if (tape->inputs != inputs || tape->outputs != outputs)
            refuse(std::string("the tape ") + name + " takes " + std::to_string(tape->inputs) + " numbers and gives "
                   + std::to_string(tape->outputs) + " instead of " + std::to_string(inputs) + " and "
                   + std::to_string(outputs) + ".");
        return tape;
    }

    int parameters = -1; // -1: none of them has any

  private:
    std::vector<std::string> names;
    std::vector<const pi2_tape *> tapes;
    std::vector<nanobind::object> kept;
};

// A sender's law on the desk.
class DeskSender {
  public:
    DeskSender(const Tapes &tapes, int states, int hears)
        : functions(tapes), states(states), hears(static_cast<pi2_hearing>(hears))
    {
        require(states >= 1 && states <= PI2_SENDER_STATES, "states are outside [1, 8].");
        require(hears >= PI2_HEARS_NOTHING && hears <= PI2_HEARS_SCALABLE, "hears is outside [0, 2].");
        at_rest = functions.shaped("at_rest", 2, states, false);
        rate = functions.shaped("rate", 2 * states + 3, states, !at_rest);
        sending = functions.shaped("sending", states + 2, 1);
        slopes.rate = functions.shaped("rate_slopes", 2 * states + 3, (2 * states + 3) * states);
        slopes.sending = functions.shaped("sending_slopes", states + 2, states + 1);
        require(at_rest || states == 1, "of several states a law says where it rests.");
    }
    DeskSender(const DeskSender &) = delete;

    const Functions functions;
    int states;
    pi2_hearing hears;
    const pi2_tape *at_rest, *rate, *sending;
    pi2_flow_slopes slopes = {};
};

// A queue's law on the desk.
class DeskQueue {
  public:
    DeskQueue(const Tapes &tapes, int states, int bands, bool ticks) : functions(tapes), states(states), bands(bands)
    {
        require(states >= 1 && states <= PI2_CONTROLLER_STATES, "states are outside [1, 7].");
        require(bands == 1 || bands == 2, "bands are 1 or 2.");
        encode = functions.shaped("encode", 1, 2);
        at_rest = functions.shaped("at_rest", 2, states + bands);
        slopes.encode = functions.shaped("encode_slopes", 1, 2);
        slopes.controller.moves = functions.shaped("moves", states + bands + 2, (states + bands + 1) * states);
        slopes.controller.picks = functions.shaped("picks", states, states);
        slopes.controller.shows = functions.shaped("controller", states, 1);
        slopes.controller.ticks = ticks;
        slopes.serve = functions.shaped("serve", 3, 1, bands == 2);
        slopes.serve_slope = functions.shaped("serve_slope", 3, 1, bands == 2);
        slopes.delay_slopes = functions.shaped("delay_slopes", 3, 2, bands == 2);
    }
    DeskQueue(const DeskQueue &) = delete;

    const Functions functions;
    int states, bands;
    const pi2_tape *encode, *at_rest;
    pi2_queue_slopes slopes = {};
};

} // namespace binding
