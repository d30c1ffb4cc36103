/**
 * @file
 * Part of the door of flow/: the search that follows all paths from an instruction, those first
 * that pass the fewest calls which could fail themselves, and among these the shortest.
 */
#ifndef PSC_EXPLORE_H
#define PSC_EXPLORE_H

#include "path_state.h"

struct flow;

enum flow_verdict {
    FLOW_PASS_FREE,    /**< Go on behind the call: it cannot fail (release, count). */
    FLOW_PASS_COUNTED, /**< Go on behind the call; paths with fewer such calls come first. */
    FLOW_END_PATH,     /**< Do not go on. */
    FLOW_FOUND         /**< The path leads to what is searched for. */
};

/** States that are done with, kept for the next ones. */
#define FLOW_SPARE_LIMIT 8

/** Zero-initialise, set what is above the line, then flow_exploration_init(). */
struct flow_exploration {
    /** Of a call; the state is at the call. */
    enum flow_verdict (*on_call)(struct flow_exploration *exploration, struct flow_state *state,
                                 struct code_target target);
    void *context;
    unsigned call_limit; /**< Of FLOW_PASS_COUNTED on one path. */
    size_t step_limit;   /**< 0: as for any question. */
    bool error;          /**< The call before the start failed: an exception is set. */
    bool single; /**< Nothing else fails besides: what sets another exception is no path of it. */
    bool stop_at_return;
    bool crowded; /**< Few paths go on from one address, the best. Set in the body of a parallel
                     block. */
    /** Or 0: found where a path comes to this address. All paths are open, each address is visited
     * once.
     */
    uint64_t goal;
    /** on_call may set what the call returns; unknown otherwise. */
    struct abstract_value result;
    /* -- */
    struct flow *flow;
    const struct code_function *function; /**< That the start is in. */
    struct flow_state **heap;             /**< The best first. */
    size_t heap_count;
    size_t heap_capacity;
    struct flow_state *spare[FLOW_SPARE_LIMIT];
    size_t spare_count;
    struct hash_table seen; /**< Hashes of states that were followed. */
    size_t steps;
    bool left;      /**< Some path left the function. */
    bool cut_short; /**< Some path was not followed to its end. */
    bool returned;  /**< Stopped at a return. */
};

/** False when the start is in no function, or there is no memory. Deinit in any case. */
bool flow_exploration_init(struct flow_exploration *exploration, struct flow *flow,
                           const struct flow_state *start);
void flow_exploration_deinit(struct flow_exploration *exploration);
/** Follows the best paths until one is found; the caller frees the state. NULL: no more. */
struct flow_state *flow_explore(struct flow_exploration *exploration);
/** All of it for the first path alone. What is below the line can be asked afterwards. */
struct flow_state *flow_explore_once(struct flow_exploration *exploration, struct flow *flow,
                                     const struct flow_state *start);

#endif
