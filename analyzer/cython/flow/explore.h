/**
 * @file
 * Private to the files of machine code: the search that follows all ways from an instruction,
 * those first that pass the fewest calls which could fail themselves, and among these the
 * shortest.
 */
#ifndef PSC_MACHINE_EXPLORE_H
#define PSC_MACHINE_EXPLORE_H

#include "reports.h"

enum machine_verdict {
    MACHINE_PASS_FREE,    /**< Go on behind the call; it let go of things only. */
    MACHINE_PASS_COUNTED, /**< Go on, but less gladly. */
    MACHINE_END_WAY,
    MACHINE_FOUND
};

/** Zero-initialise, set what is above the line, then machine_exploration_init(). */
struct machine_exploration {
    /** Of a call; the state is at the call. */
    enum machine_verdict (*on_call)(struct machine_exploration *exploration,
                                    struct machine_state *state, struct machine_target target);
    void *context;
    unsigned call_limit; /**< Of MACHINE_PASS_COUNTED on one way. */
    size_t step_limit;   /**< 0: as for any question. */
    bool error;          /**< The call before the start failed: an exception is set. */
    bool single; /**< Nothing else fails besides: what sets another exception is no way of it. */
    bool stop_at_return;
    bool crowded; /**< Only the best few come by a place. Set in the body of a parallel block. */
    /** Or 0: found where a way comes to this address. All ways are open, each place is seen once.
     */
    uint64_t goal;
    /** on_call may set what the call returns; unknown otherwise. */
    struct value result;
    /* -- */
    struct machine *machine;
    const struct machine_function *home;
    struct machine_state **heap; /**< The best first. */
    size_t heap_count;
    size_t heap_capacity;
    uint64_t *seen; /**< Hashes of states that were followed; open addressing, 0: empty. */
    size_t seen_size;
    size_t seen_count;
    size_t steps;
    bool left;      /**< Some way left the function. */
    bool cut_short; /**< Some way was not followed to its end. */
    bool returned;  /**< Stopped at a return. */
};

/** False when the start is in no function, or there is no memory. Deinit in any case. */
bool machine_exploration_init(struct machine_exploration *exploration, struct machine *machine,
                              const struct machine_state *start);
void machine_exploration_deinit(struct machine_exploration *exploration);
/** Follows the best ways until one is found; the caller frees the state. NULL: no more. */
struct machine_state *machine_explore(struct machine_exploration *exploration);

/** True when a jump from `home` goes on in the same function: gcc puts cold parts elsewhere. */
bool machine_is_inside(const struct machine *machine, const struct machine_function *home,
                       struct machine_target target);
/** Counts instructions that are followed; false when a module's share of them is used up. */
bool machine_spend_steps(struct machine *machine, size_t count);

/** Where a call or jump leads, as far as the instruction tells. */
struct machine_target machine_operand_target(const struct machine *machine,
                                             const struct operand *operand);

#endif
